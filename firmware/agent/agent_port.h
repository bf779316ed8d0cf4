/* What the agent needs from a board. Each port implements all of it. */
#ifndef EMU_AGENT_PORT_H
#define EMU_AGENT_PORT_H

#include <stddef.h>
#include <stdint.h>
#include "emu_table.h"
#include "emu_run.h"

/* Memory that the host may use; flags of enum wire_region_flags. */
struct agent_region {
    const char *name; /* at most 19 characters */
    uint8_t *start;   /* 16-byte aligned */
    uint32_t size;
    uint32_t flags;
};

struct agent_board {
    const char *name;    /* of the port, at most 31 characters */
    uint64_t nonce;      /* another one at each start */
    uint64_t identity;
    const uint8_t *code; /* what the build number covers */
    uint32_t code_bytes;
    const uint8_t *constants;
    uint32_t constants_bytes;
    uint32_t flags;      /* enum wire_flags */
    uint32_t hertz;      /* of agent_port_cycles, 0: unknown */
    uint32_t region_count;
    const struct agent_region *regions;
    uintptr_t nowhere;   /* no memory from here up to 2 GiB, 64-byte aligned: an access is an exception; 0: not on this port */
    emu_par *par;        /* two cores; NULL: one */
    void *par_arg;
};

/* Called once by agent_start. */
const struct agent_board *agent_port_board(void);
/* The same board with `size` bytes of flash from `offset` on and `psram` bytes of PSRAM as further regions, multiples of
 * 65,536 that were checked. NULL: not on this port, nothing has changed. */
const struct agent_board *agent_port_board_with(uint32_t offset, uint32_t size, uint32_t psram);
/* Bytes that have arrived, at most `capacity`; returns at once. */
uint32_t agent_port_read(uint8_t *to, uint32_t capacity);
/* Sends; may wait for the transmitter, and must go on receiving into a buffer of its own meanwhile. */
void agent_port_write(const uint8_t *data, uint32_t size);
/* Bytes lost at the receiver since the start. */
uint32_t agent_port_lost(void);
uint32_t agent_port_cycles(void);
/* After `cycles` (at most 2^31 - 1) without another call the image is left as by an exception; 0: never. */
void agent_port_limit(uint32_t cycles);
/* Calls a function with n <= 24 words, arguments as the signature's parameters say; a2 | a3 << 32. */
uint64_t agent_port_call(emu_function function, const char *signature, const uintptr_t *words, uint32_t n,
                         uint32_t dirt);
/* Waits for the transmitter, then changes the speed. 0: done. */
int agent_port_baud(uint32_t baud);
uint32_t agent_port_speed(void);
/* The agent's own memory was overwritten: starts the image again, with reason WIRE_DAMAGED. Does not return. */
void agent_port_damaged(void);
/* Does not return. */
void agent_port_reset(void);

#endif
