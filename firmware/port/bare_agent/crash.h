/* What is left of a run that ended with an exception: kept over the start that follows. */
#ifndef EMU_PORT_CRASH_H
#define EMU_PORT_CRASH_H

#include <stdint.h>
#include "agent.h"

#define CRASH_EXCEPTION 0x48535243u /* fault.S writes it */
#define CRASH_ASKED 0x4B534143u
#define CRASH_DAMAGED 0x474D4443u

/* fault.S knows the order. */
struct crash {
    uint32_t magic;
    uint32_t vector;
    uint32_t cause;
    uint32_t pc;
    uint32_t vaddr;
    uint32_t ps;
    uint32_t a[16];
    uint32_t sequence;
    char where[24];
    uint32_t probing; /* memory that may not be there */
};

extern struct crash agent_crash;
extern uint64_t agent_last_nonce; /* of the start before; anything after power-on */

/* enum wire_reason of this start; fills *fault; a second look finds a power-on. */
uint32_t crash_reason(struct agent_fault *fault);
/* Called by fault.S after an exception: prints it, keeps what was running. */
void agent_panic(void);
/* Registers that a called function must not rely on, from a seed; 0: zeroed. */
void agent_dirty(uint32_t seed);

#endif
