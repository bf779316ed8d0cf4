/* What esp-dsp asks of a project's configuration. build.py says which chip a source is for: files called _ae32 are
 * switched off for the ESP32-S3 where a newer file takes their place, though the chip executes them as well. */
#pragma once

#define CONFIG_IDF_TARGET_ARCH_XTENSA 1
#define CONFIG_DSP_OPTIMIZED 1
#define CONFIG_DSP_OPTIMIZATION 1
#define CONFIG_DSP_MAX_FFT_SIZE 4096
