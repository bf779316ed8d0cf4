/* As ESP-IDF has it. */
#pragma once

typedef int esp_err_t;

#define ESP_OK 0
#define ESP_FAIL -1
