/* Declarations that the port uses, as the documentation of ESP-IDF gives them. */
#ifndef STUB_FREERTOS_FREERTOS_H
#define STUB_FREERTOS_FREERTOS_H
#include <stddef.h>
#include <stdint.h>
#include "sdkconfig.h"
#include "esp_err.h"
typedef int BaseType_t;
typedef unsigned UBaseType_t;
typedef uint32_t TickType_t;
#define pdTRUE 1
#define portMAX_DELAY 0xFFFFFFFFu
#define pdMS_TO_TICKS(ms) ((TickType_t)(ms))
#endif
