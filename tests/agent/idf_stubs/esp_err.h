/* Declarations that the port uses, as the documentation of ESP-IDF gives them. */
#ifndef STUB_ESP_ERR_H
#define STUB_ESP_ERR_H
typedef int esp_err_t;
#define ESP_OK 0
#define ESP_ERROR_CHECK(x) do { esp_err_t code_ = (x); (void)code_; } while (0)
#endif
