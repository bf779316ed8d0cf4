/* UART0. Chip reference manual, "UART Controller". */
#ifndef EMU_PORT_UART_H
#define EMU_PORT_UART_H

#include <stdint.h>

void uart_start(void);
/* Bytes that have arrived. */
uint32_t uart_read(uint8_t *to, uint32_t capacity);
/* Waits for room in the transmitter; what arrives meanwhile is kept. */
void uart_write(const uint8_t *data, uint32_t size);
/* Waits until the last bit has left. */
void uart_flush(void);
void uart_set_baud(uint32_t baud);
uint32_t uart_baud(void);
/* Bytes that found no room. */
uint32_t uart_lost(void);

#endif
