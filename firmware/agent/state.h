/* The agent's own memory, and what its parts call of each other. */
#ifndef EMU_AGENT_STATE_H
#define EMU_AGENT_STATE_H

#include "agent.h"
#include "agent_port.h"
#include "frame.h"

enum slot_state { SLOT_EMPTY = 0, SLOT_WAITING, SLOT_RUNNING, SLOT_DONE };

/* A request until it is executed, then its reply. `frame` has room for the header in front of the payload. */
struct agent_slot {
    uint32_t state;
    uint32_t type;
    uint32_t length; /* of the payload */
    uint8_t frame[WIRE_FRAME];
};

struct agent_buffer {
    uint8_t *start;
    uint32_t size; /* 0: no buffer */
    uint32_t writable;
};

/* Bytes that something relies on. */
struct agent_span {
    const uint8_t *start;
    uint32_t size; /* 0: nothing */
};

#define AGENT_GUARD 0x6E756772u

struct agent {
    uint32_t guard_before;
    const struct agent_board *board;
    uint32_t build;
    uint32_t table;    /* kernels of emu_kernel_table */
    uint32_t kernels;  /* with agent_extra */
    uint32_t session;
    uint32_t base;     /* highest ack seen */
    uint32_t next;     /* sequence that is executed next */
    uint32_t running;  /* sequence of the request being executed, 0: none */
    uint32_t quiet;    /* bytes since the last unasked STATUS */
    uint32_t new_baud; /* after the next reply, 0: no change */
    uint32_t old_baud; /* to go back to, 0: nothing to go back to */
    uint32_t baud_since;
    uint32_t reason;   /* of this start, with `fault` */
    struct agent_fault fault;
    char where[WIRE_NAME];
    struct agent_buffer buffers[WIRE_BUFFERS];
    struct agent_span checked;  /* a model file that was found good and cannot have changed since */
    struct agent_span sequence; /* the file of tinylm's sequence; nothing: there is no sequence */
    struct agent_slot slots[WIRE_WINDOW];
    struct frame_receiver receiver;
    uint8_t control[WIRE_FRAME]; /* a frame without a sequence number that is being sent */
    uint8_t request[WIRE_PAYLOAD];
    uint8_t reply[WIRE_PAYLOAD];
    uint32_t guard_behind;
};

extern struct agent agent_state;

/* One request: reads `in` (length bytes), writes its reply behind the status word, which is at reply[0..3], and sets
 * *out to the length of the reply with the status word (4 when called). Returns the status. */
typedef uint32_t agent_handler(const uint8_t *in, uint32_t length, uint8_t *reply, uint32_t *out);

agent_handler agent_list, agent_buffer, agent_write, agent_read, agent_fill, agent_checksum, agent_call, agent_run,
    agent_baud, agent_map;

/* The bytes offset .. offset + length - 1 of a buffer: a status; *where is set with WIRE_OK only. */
uint32_t agent_range(uint32_t buffer, uint32_t offset, uint32_t length, int write, uint8_t **where);
/* From offset to the end of the buffer; who writes there says so by agent_touch. */
uint32_t agent_rest(uint32_t buffer, uint32_t offset, int write, uint8_t **where, uint32_t *length);
/* These bytes may change: nobody relies on them any more. agent_range does it when `write`. */
void agent_touch(const uint8_t *start, uint32_t size);
int agent_overlap(const uint8_t *a, uint32_t na, const uint8_t *b, uint32_t nb);
void agent_drop_buffers(void);
void agent_set_where(const char *name);
uint32_t agent_fingerprint(const char *name, const char *signature);
/* Length of a string; copies one into a zero-padded field. */
uint32_t agent_length(const char *text);
void agent_pad(char *to, const char *text, uint32_t size);
void agent_send_event(uint32_t type, uint32_t length);
void agent_hello_payload(uint8_t *to);

/* Signatures in the order of emu_kernel_table (signatures.c is written by tools/agent_signatures.py). */
extern const char *const agent_signatures[];
/* What each takes and touches: formulas, extents.h. */
extern const char *const agent_extents[];

/* A function that CALL can call: those of emu_kernel_table, then those of agent_extra. */
struct agent_kernel {
    const char *name; /* NULL ends agent_extra */
    const char *signature;
    const char *extents;
    emu_function function;
};
/* Functions that only this chip has (chip/extra.c); none on other machines. */
extern const struct agent_kernel agent_extra[];
struct agent_kernel agent_kernel(uint32_t index);

struct agent_model {
    const char *name;
    const char *signature;
};
#define AGENT_MODELS 6u
extern const struct agent_model agent_models[AGENT_MODELS];

#define HELLO_BYTES 160u

#endif
