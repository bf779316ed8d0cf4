/* What esp-dsp asks of the core: facts of the ESP32-S3's configuration. */
#pragma once

#define XCHAL_HAVE_FP 1
#define XCHAL_HAVE_LOOPS 1
#define XCHAL_HAVE_MAC16 1
