/* Echo over USB serial/JTAG; packets leave when they are full or flushed. */
#include "regs.h"

#define EP1 REG(0x60038000)
#define EP1_CONF REG(0x60038004)

int main(void)
{
    for (const char *text = "usb ready\n"; *text; text++)
        EP1 = (uint32_t)*text;
    EP1_CONF = 1;
    for (;;) {
        uint32_t count = 0;
        while (EP1_CONF & 4) {
            while (!(EP1_CONF & 2))
                ;
            EP1 = EP1;
            count++;
        }
        if (count)
            EP1_CONF = 1;
    }
}
