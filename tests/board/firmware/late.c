/* Looks at its receive FIFO once, long after bytes have come: how many are left, and was one lost? */
#include "regs.h"

int main(void)
{
    UART_CLK_CONF = 1 << 20 | 1 << 22 | 3 << 24;
    UART_CLKDIV = 80000000u / 1000000;
    say("ready\n");
    while (!(UART_STATUS & 0x3FF))
        ;
    for (volatile uint32_t i = 0; i < 400000; i++)
        ;
    uint32_t count = UART_STATUS & 0x3FF, raw = REG(0x60000004);
    say("count ");
    hex(count);
    say(" overflow ");
    hex(raw >> 4 & 1);
    say(" bytes ");
    while (count--)
        hex(UART_FIFO);
    say("\n");
    for (;;)
        ;
}
