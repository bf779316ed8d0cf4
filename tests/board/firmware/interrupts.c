/* Echo by interrupt on the ROM's vectors, with a counter that the main loop keeps while nothing comes. */
#include "regs.h"

void ets_isr_attach(int number, void (*handler)(void *), void *argument);
void ets_isr_unmask(uint32_t mask);

static volatile uint32_t taken;

static uint32_t deep(uint32_t n)
{
    return n ? deep(n - 1) + n : 0; /* more frames than there are registers: the handlers have to spill */
}

static void handler(void *argument)
{
    taken += deep(12) == 78 && argument == (void *)&taken;
    UART_INT_CLR = 0x101;
    while (UART_STATUS & 0x3FF)
        put(UART_FIFO);
}

int main(void)
{
    ets_isr_attach(5, handler, (void *)&taken);
    ets_isr_unmask(1 << 5);
    REG(0x60000060) = REG(0x60000060) | 10 << 17;
    UART_CONF1 = (UART_CONF1 & ~0x3FFu) | 32 | 1 << 23;
    UART_INT_ENA = 0x101;
    say("ready\n");
    uint32_t sum = 0;
    while (deep(9) == 45)
        sum++;
    say("broken\n");
    return (int)sum;
}
