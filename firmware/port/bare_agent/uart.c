#include "uart.h"
#include "chip.h"

#define XTAL_HERTZ 40000000u
#define FIFO_BYTES 128u
#define RING 4096u

static uint8_t ring[RING];
static uint32_t written, taken; /* count bytes, may wrap */
static uint32_t lost;

/* From the receiver's FIFO to the ring, as far as there is room. */
static void receive(void)
{
    uint32_t n;
    if ((UART0_INT_RAW & UART_RXFIFO_OVF) != 0) {
        UART0_INT_CLR = UART_RXFIFO_OVF;
        lost++;
    }
    while (written - taken < RING && (n = UART0_STATUS & 0x3FFu) != 0)
        for (; n != 0 && written - taken < RING; n--)
            ring[written++ % RING] = (uint8_t)UART0_FIFO;
}

static uint32_t transmitter(void)
{
    return UART0_STATUS >> 16 & 0x3FFu;
}

uint32_t uart_read(uint8_t *to, uint32_t capacity)
{
    uint32_t n = 0;
    if (written == taken)
        receive();
    for (; n < capacity && taken != written; n++)
        to[n] = ring[taken++ % RING];
    return n;
}

void uart_write(const uint8_t *data, uint32_t size)
{
    while (size != 0) {
        uint32_t used = transmitter(), room = used < FIFO_BYTES - 2 ? FIFO_BYTES - 2 - used : 0;
        if (room == 0)
            receive();
        for (; room != 0 && size != 0; room--, size--)
            UART0_FIFO = *data++;
    }
}

void uart_flush(void)
{
    while (transmitter() != 0 || (UART0_FSM_STATUS >> 4 & 15u) != 0)
        ;
}

/* From the crystal: the speed does not depend on the clock of the processor. */
void uart_set_baud(uint32_t baud)
{
    uint32_t sixteenths = (XTAL_HERTZ * 16u + baud / 2) / baud;
    UART0_CLK_CONF = 3u << 24 | 1u << 22 | 3u << 20;
    UART0_CLKDIV = sixteenths >> 4 | (sixteenths & 15u) << 20;
}

uint32_t uart_baud(void)
{
    static const uint32_t hertz[4] = {XTAL_HERTZ, 80000000u, 17500000u, XTAL_HERTZ};
    uint32_t clock = UART0_CLK_CONF, divider = UART0_CLKDIV;
    uint32_t sixteenths = (divider & 0xFFFu) << 4 | (divider >> 20 & 15u);
    return sixteenths != 0 ? hertz[clock >> 20 & 3u] / ((clock >> 12 & 0xFFu) + 1u) * 16u / sixteenths : 0;
}

void uart_start(void)
{
    receive();
    written = taken = lost = 0;
}

uint32_t uart_lost(void)
{
    return lost;
}
