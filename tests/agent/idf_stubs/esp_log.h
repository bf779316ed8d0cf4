/* Declarations that the port uses, as the documentation of ESP-IDF gives them. */
#ifndef STUB_ESP_LOG_H
#define STUB_ESP_LOG_H
#define ESP_LOGW(tag, ...) ((void)(tag), log_stub(__VA_ARGS__))
int log_stub(const char *format, ...) __attribute__((format(printf, 1, 2)));
#endif
