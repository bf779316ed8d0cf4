/* Declarations that the port uses, as the documentation of ESP-IDF gives them. */
#ifndef STUB_ESP_RANDOM_H
#define STUB_ESP_RANDOM_H
#include <stdint.h>
uint32_t esp_random(void);
#endif
