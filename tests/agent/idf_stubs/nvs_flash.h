/* Declarations that the port uses, as the documentation of ESP-IDF gives them. */
#ifndef STUB_NVS_FLASH_H
#define STUB_NVS_FLASH_H
#include "esp_err.h"
esp_err_t nvs_flash_init(void);
#endif
