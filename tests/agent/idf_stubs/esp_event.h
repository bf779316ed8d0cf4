/* Declarations that the port uses, as the documentation of ESP-IDF gives them. */
#ifndef STUB_ESP_EVENT_H
#define STUB_ESP_EVENT_H
#include "esp_err.h"
esp_err_t esp_event_loop_create_default(void);
#endif
