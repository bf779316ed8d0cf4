/* Sends back what comes; BAUD, if defined, is set first. */
#include "regs.h"

int main(void)
{
#ifdef BAUD
    UART_CLK_CONF = 1 << 20 | 1 << 22 | 3 << 24;
    UART_CLKDIV = (80000000u / BAUD) | ((80000000ull * 16 / BAUD & 15) << 20);
#endif
    say("ready\n");
    for (;;) {
        uint32_t count = UART_STATUS & 0x3FF;
        while (count--)
            put(UART_FIFO);
    }
}
