/* Declarations that the port uses, as the documentation of ESP-IDF gives them. */
#ifndef STUB_DRIVER_USB_SERIAL_JTAG_H
#define STUB_DRIVER_USB_SERIAL_JTAG_H
#include <stddef.h>
#include <stdint.h>
#include "freertos/FreeRTOS.h"
typedef struct { uint32_t tx_buffer_size, rx_buffer_size; } usb_serial_jtag_driver_config_t;
esp_err_t usb_serial_jtag_driver_install(usb_serial_jtag_driver_config_t *config);
int usb_serial_jtag_read_bytes(void *to, uint32_t length, TickType_t ticks);
int usb_serial_jtag_write_bytes(const void *from, size_t size, TickType_t ticks);
#endif
