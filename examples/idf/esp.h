/* What the examples use of ESP-IDF, declared as ESP-IDF does. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define IRAM_ATTR __attribute__((section(".iram1.0")))
#define DRAM_ATTR __attribute__((section(".dram1.0")))

#define MALLOC_CAP_8BIT (1 << 2)
#define MALLOC_CAP_INTERNAL (1 << 11)
void *heap_caps_malloc(size_t size, uint32_t caps);
void heap_caps_free(void *block);

typedef enum { ESP_LOG_NONE, ESP_LOG_ERROR, ESP_LOG_WARN, ESP_LOG_INFO, ESP_LOG_DEBUG } esp_log_level_t;
void esp_log_write(esp_log_level_t level, const char *tag, const char *format, ...);
uint32_t esp_log_timestamp(void);
#define ESP_LOGI(tag, format, ...) \
    esp_log_write(ESP_LOG_INFO, tag, "I (%u) %s: " format "\n", (unsigned)esp_log_timestamp(), tag, ##__VA_ARGS__)

void *memcpy(void *to, const void *from, size_t size);
void *memset(void *to, int byte, size_t size);

#ifdef __cplusplus
}
#endif
