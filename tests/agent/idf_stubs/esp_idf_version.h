/* Declarations that the port uses, as the documentation of ESP-IDF gives them. */
#ifndef STUB_ESP_IDF_VERSION_H
#define STUB_ESP_IDF_VERSION_H
#define ESP_IDF_VERSION_VAL(a, b, c) ((a) << 16 | (b) << 8 | (c))
#define ESP_IDF_VERSION ESP_IDF_VERSION_VAL(5, 5, 0)
#endif
