/* Declarations that the port uses, as the documentation of ESP-IDF gives them. */
#ifndef STUB_DRIVER_UART_H
#define STUB_DRIVER_UART_H
#include <stddef.h>
#include <stdint.h>
#include "freertos/FreeRTOS.h"
#include "freertos/queue.h"
typedef int uart_port_t;
#define UART_NUM_0 0
typedef enum { UART_DATA_8_BITS = 3 } uart_word_length_t;
typedef enum { UART_PARITY_DISABLE = 0 } uart_parity_t;
typedef enum { UART_STOP_BITS_1 = 1 } uart_stop_bits_t;
typedef enum { UART_HW_FLOWCTRL_DISABLE = 0 } uart_hw_flowcontrol_t;
typedef enum { UART_SCLK_XTAL = 1 } uart_sclk_t;
typedef enum { UART_DATA, UART_FIFO_OVF, UART_BUFFER_FULL } uart_event_type_t;
typedef struct { uart_event_type_t type; size_t size; } uart_event_t;
typedef struct {
    int baud_rate;
    uart_word_length_t data_bits;
    uart_parity_t parity;
    uart_stop_bits_t stop_bits;
    uart_hw_flowcontrol_t flow_ctrl;
    uint8_t rx_flow_ctrl_thresh;
    uart_sclk_t source_clk;
} uart_config_t;
esp_err_t uart_driver_install(uart_port_t port, int rx, int tx, int events, QueueHandle_t *queue, int flags);
esp_err_t uart_param_config(uart_port_t port, const uart_config_t *config);
int uart_read_bytes(uart_port_t port, void *to, uint32_t length, TickType_t ticks);
int uart_write_bytes(uart_port_t port, const void *from, size_t size);
esp_err_t uart_wait_tx_done(uart_port_t port, TickType_t ticks);
esp_err_t uart_set_baudrate(uart_port_t port, uint32_t baud);
esp_err_t uart_get_baudrate(uart_port_t port, uint32_t *baud);
#endif
