/* ESP-NOW: messages of a layer pipeline between boards. Fragments and their rules are in firmware/agent/fragments.c. */
#include "sdkconfig.h"
#if CONFIG_EMU_CLUSTER
#include <string.h>
#include "esp_event.h"
#include "esp_idf_version.h"
#include "esp_log.h"
#include "esp_netif.h"
#include "esp_now.h"
#include "esp_timer.h"
#include "esp_wifi.h"
#include "freertos/FreeRTOS.h"
#include "freertos/semphr.h"
#include "nvs_flash.h"
#include "agent_idf.h"
#include "cluster.h"
#include "fragments.h"

#define MESSAGE_BYTES 16384u

static struct fragment_receiver receiver;
static uint8_t memory[FRAGMENT_SENDERS * MESSAGE_BYTES];
static cluster_message *deliver;
static SemaphoreHandle_t sent;
static uint32_t longest = FRAGMENT_V1;

/* ESP-IDF 5.0 and later: the first argument is a structure, whose first member is a pointer to the sender's address. */
static void received(const esp_now_recv_info_t *info, const uint8_t *data, int length)
{
    const uint8_t *message;
    uint32_t size;
    if (info == NULL || info->src_addr == NULL || length < 0)
        return;
    uint32_t now = (uint32_t)(esp_timer_get_time() / 1000);
    int32_t result = fragment_take(&receiver, info->src_addr, data, (uint32_t)length, now, &message, &size);
    if (result == FRAGMENT_MESSAGE && deliver != NULL)
        deliver(info->src_addr, message, size);
    else if (result < 0)
        ESP_LOGW("cluster", "frame of %d bytes refused (%ld)", length, (long)result);
}

#if ESP_IDF_VERSION >= ESP_IDF_VERSION_VAL(5, 5, 0)
static void sent_one(const esp_now_send_info_t *info, esp_now_send_status_t status)
#else
static void sent_one(const uint8_t *info, esp_now_send_status_t status)
#endif
{
    (void)info, (void)status;
    xSemaphoreGive(sent);
}

void cluster_on_message(cluster_message *function)
{
    deliver = function;
}

int cluster_send(const uint8_t mac[6], const uint8_t *message, uint32_t size)
{
    static uint16_t id;
    static uint8_t frame[FRAGMENT_V2];
    uint32_t count = fragment_count(size, longest);
    id++;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t n = fragment_put(frame, longest, message, size, id, i);
        if (n == 0 || esp_now_send(mac, frame, n) != ESP_OK || xSemaphoreTake(sent, pdMS_TO_TICKS(500)) != pdTRUE)
            return -1;
    }
    return count != 0 ? 0 : -1;
}

int cluster_add_peer(const uint8_t mac[6])
{
    esp_now_peer_info_t peer = {.channel = CONFIG_EMU_CLUSTER_CHANNEL, .ifidx = WIFI_IF_STA};
    memcpy(peer.peer_addr, mac, 6);
    return esp_now_add_peer(&peer) == ESP_OK ? 0 : -1;
}

void cluster_start(void)
{
    uint32_t version = 1;
    wifi_init_config_t config = WIFI_INIT_CONFIG_DEFAULT();
    sent = xSemaphoreCreateBinary();
    ESP_ERROR_CHECK(nvs_flash_init());
    ESP_ERROR_CHECK(esp_netif_init());
    ESP_ERROR_CHECK(esp_event_loop_create_default());
    ESP_ERROR_CHECK(esp_wifi_init(&config));
    ESP_ERROR_CHECK(esp_wifi_set_storage(WIFI_STORAGE_RAM));
    ESP_ERROR_CHECK(esp_wifi_set_mode(WIFI_MODE_STA));
    ESP_ERROR_CHECK(esp_wifi_start());
    ESP_ERROR_CHECK(esp_wifi_set_channel(CONFIG_EMU_CLUSTER_CHANNEL, WIFI_SECOND_CHAN_NONE));
    ESP_ERROR_CHECK(esp_now_init());
    if (esp_now_get_version(&version) == ESP_OK && version >= 2)
        longest = FRAGMENT_V2;
    fragment_start(&receiver, longest, memory, MESSAGE_BYTES);
    ESP_ERROR_CHECK(esp_now_register_recv_cb(received));
    ESP_ERROR_CHECK(esp_now_register_send_cb(sent_one));
}

#endif
