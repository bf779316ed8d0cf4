/* Declarations that the port uses, as the documentation of ESP-IDF gives them. */
#ifndef STUB_ESP_SYSTEM_H
#define STUB_ESP_SYSTEM_H
typedef enum { ESP_RST_UNKNOWN, ESP_RST_POWERON, ESP_RST_EXT, ESP_RST_SW, ESP_RST_PANIC } esp_reset_reason_t;
esp_reset_reason_t esp_reset_reason(void);
void esp_restart(void) __attribute__((noreturn));
void esp_system_abort(const char *details) __attribute__((noreturn));
#define RTC_NOINIT_ATTR
#endif
