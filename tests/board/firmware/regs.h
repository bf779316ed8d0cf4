#include <stdint.h>
#define REG(address) (*(volatile uint32_t *)(address))
#define UART_FIFO REG(0x60000000)
#define UART_INT_ENA REG(0x6000000C)
#define UART_INT_CLR REG(0x60000010)
#define UART_CLKDIV REG(0x60000014)
#define UART_STATUS REG(0x6000001C)
#define UART_CONF1 REG(0x60000024)
#define UART_CLK_CONF REG(0x60000078)

static inline void put(uint32_t value)
{
    while ((UART_STATUS >> 16 & 0x3FF) >= 126)
        ;
    UART_FIFO = value;
}

static inline void say(const char *text)
{
    while (*text)
        put((uint32_t)*text++);
}

static inline void hex(uint32_t value)
{
    for (int shift = 28; shift >= 0; shift -= 4)
        put("0123456789abcdef"[value >> shift & 15]);
}
