/* The agent: answers a host over a serial line, docs/wire.md. Portable; everything about the board is in agent_port.h.
 *
 *     agent_start(WIRE_POWER_ON, 0);
 *     for (;;)
 *         agent_work();
 */
#ifndef EMU_AGENT_H
#define EMU_AGENT_H

#include <stdint.h>

/* Why the image was left before this start. */
struct agent_fault {
    uint32_t vector;
    uint32_t cause;
    uint32_t pc;
    uint32_t vaddr;
    uint32_t ps;
    uint32_t sequence; /* of the request that was executed */
    char where[24];    /* kernel or stage */
};

/* fault: NULL when there was none. Sends BOOT. */
void agent_start(uint32_t reason, const struct agent_fault *fault);
/* Takes what has arrived and executes at most one request; returns at once. Not 0: something was done. */
int agent_work(void);
/* Takes what has arrived, but executes nothing: for long computations. Called by the agent itself between stages. */
void agent_listen(void);
/* A log line; cut after the longest payload. */
void agent_log(const char *text);
/* What is running, for a report of a fault: name (zero-padded, 24 bytes; empty: nothing) and sequence. */
const char *agent_where(uint32_t *sequence);

#endif
