/* Declarations that the port uses, as the documentation of ESP-IDF gives them. */
#ifndef STUB_SDKCONFIG_H
#define STUB_SDKCONFIG_H
#define CONFIG_EMU_BAUD 115200
#define CONFIG_EMU_SRAM_BYTES 98304
#define CONFIG_EMU_PSRAM_BYTES 4194304
#define CONFIG_EMU_CLUSTER_CHANNEL 1
#endif
