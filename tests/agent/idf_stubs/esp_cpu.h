/* Declarations that the port uses, as the documentation of ESP-IDF gives them. */
#ifndef STUB_ESP_CPU_H
#define STUB_ESP_CPU_H
#include <stdint.h>
typedef uint32_t esp_cpu_cycle_count_t;
esp_cpu_cycle_count_t esp_cpu_get_cycle_count(void);
#endif
