/* Declarations that the port uses, as the documentation of ESP-IDF gives them. */
#ifndef STUB_ESP_ROM_SYS_H
#define STUB_ESP_ROM_SYS_H
#include <stdint.h>
uint32_t esp_rom_get_cpu_ticks_per_us(void);
#endif
