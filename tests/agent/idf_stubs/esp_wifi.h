/* Declarations that the port uses, as the documentation of ESP-IDF gives them. */
#ifndef STUB_ESP_WIFI_H
#define STUB_ESP_WIFI_H
#include "esp_err.h"
typedef struct { int magic; } wifi_init_config_t;
#define WIFI_INIT_CONFIG_DEFAULT() {0}
typedef enum { WIFI_STORAGE_RAM = 1 } wifi_storage_t;
typedef enum { WIFI_MODE_STA = 1 } wifi_mode_t;
typedef enum { WIFI_SECOND_CHAN_NONE } wifi_second_chan_t;
typedef enum { WIFI_IF_STA } wifi_interface_t;
esp_err_t esp_wifi_init(const wifi_init_config_t *config);
esp_err_t esp_wifi_set_storage(wifi_storage_t storage);
esp_err_t esp_wifi_set_mode(wifi_mode_t mode);
esp_err_t esp_wifi_start(void);
esp_err_t esp_wifi_set_channel(uint8_t primary, wifi_second_chan_t second);
#endif
