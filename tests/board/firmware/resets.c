/* Says why it started; a letter makes it start again: s software, c one core, t timer group, r RTC, h hang in waiti. */
#include "regs.h"

static void unlock(uint32_t protect)
{
    REG(protect) = 0x50D83AA1;
}

int main(void)
{
    say("cause ");
    hex(REG(0x60008038) & 0x3F);
    say(" store ");
    hex(REG(0x60008050));
    say("\n");
    REG(0x60008050) += 1;
    for (;;) {
        if (!(UART_STATUS & 0x3FF))
            continue;
        uint32_t letter = UART_FIFO;
        if (letter == 's')
            REG(0x60008000) |= 1u << 31;
        if (letter == 'c')
            REG(0x60008000) |= 1u << 5;
        if (letter == 't') {
            unlock(0x6001F064);
            REG(0x6001F050) = 1000;
            REG(0x6001F04C) = 80 << 16;
            REG(0x6001F048) = 1u << 31 | 3 << 29;
        }
        if (letter == 'r') {
            unlock(0x600080B0);
            REG(0x6000809C) = 136;
            REG(0x60008098) = 1u << 31 | 4 << 28;
        }
        if (letter == 'f')
            REG(0x6001F060) = 1;
    }
}
