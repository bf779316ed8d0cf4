/* A bare image without an agent waits: its kernels are called by symbol. */
#include "emu_table.h"

int main(void);

/* Read by a debugger or a loader that wants to know that start-up is over. */
const struct emu_kernel *volatile emu_ready;

int main(void)
{
    emu_ready = emu_kernel_table;
    for (;;)
        __asm__ volatile("waiti 15");
}
