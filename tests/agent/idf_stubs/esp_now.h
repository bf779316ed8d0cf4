/* Declarations that the port uses, as the documentation of ESP-IDF gives them. */
#ifndef STUB_ESP_NOW_H
#define STUB_ESP_NOW_H
#include <stddef.h>
#include <stdint.h>
#include "esp_wifi.h"
typedef struct { uint8_t *src_addr, *des_addr; void *rx_ctrl; } esp_now_recv_info_t;
typedef struct { uint8_t *des_addr, *src_addr; } esp_now_send_info_t;
typedef enum { ESP_NOW_SEND_SUCCESS, ESP_NOW_SEND_FAIL } esp_now_send_status_t;
typedef struct { uint8_t peer_addr[6]; uint8_t lmk[16]; uint8_t channel; wifi_interface_t ifidx; _Bool encrypt; void *priv; } esp_now_peer_info_t;
typedef void (*esp_now_recv_cb_t)(const esp_now_recv_info_t *info, const uint8_t *data, int length);
typedef void (*esp_now_send_cb_t)(const esp_now_send_info_t *info, esp_now_send_status_t status);
esp_err_t esp_now_init(void);
esp_err_t esp_now_get_version(uint32_t *version);
esp_err_t esp_now_register_recv_cb(esp_now_recv_cb_t callback);
esp_err_t esp_now_register_send_cb(esp_now_send_cb_t callback);
esp_err_t esp_now_send(const uint8_t *peer, const uint8_t *data, size_t length);
esp_err_t esp_now_add_peer(const esp_now_peer_info_t *peer);
#endif
