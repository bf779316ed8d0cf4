/* Core 1 doubles what core 0 gives it. */
#include "regs.h"

void ets_set_appcpu_boot_addr(uint32_t address);

static volatile uint32_t question, answer, asked, given;

static void second(void)
{
    for (;;) {
        if (asked != given) {
            answer = 2 * question;
            given = asked;
        }
    }
}

int main(void)
{
    ets_set_appcpu_boot_addr((uint32_t)second);
    REG(0x600C0000) = 1 << 1;
    for (uint32_t i = 1; i <= 20; i++) {
        question = i * 1000;
        asked++;
        while (given != asked)
            ;
        hex(answer);
        put('\n');
    }
    for (;;)
        ;
}
