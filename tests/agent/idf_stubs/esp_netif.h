/* Declarations that the port uses, as the documentation of ESP-IDF gives them. */
#ifndef STUB_ESP_NETIF_H
#define STUB_ESP_NETIF_H
#include "esp_err.h"
esp_err_t esp_netif_init(void);
#endif
