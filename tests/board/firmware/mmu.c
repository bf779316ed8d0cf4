/* The MMU table as software sees it: PSRAM through bit 15, flash without, both windows. */
#include "regs.h"

#define ENTRY(n) REG(0x600C5000 + 4 * (n))

int main(void)
{
    ENTRY(5) = 0x8003;
    REG(0x3C050010) = 0xCAFE0001;
    hex(REG(0x3C050010));
    ENTRY(6) = 0x8003;
    hex(REG(0x3C060010));
    ENTRY(5) = 0x0003;
    hex(REG(0x3C050010));
    hex(REG(0x42050010));
    ENTRY(5) = 0x4000;
    hex(ENTRY(5));
    put('\n');
    for (;;)
        ;
}
