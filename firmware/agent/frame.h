/* Frames on the line: docs/wire.md section 2. */
#ifndef EMU_AGENT_FRAME_H
#define EMU_AGENT_FRAME_H

#include "wire.h"

/* Collects the bytes between two zeros. All zero at first. */
struct frame_receiver {
    uint32_t used;     /* bytes of `piece`; above WIRE_STUFFED: too long, the rest is dropped */
    uint32_t newlines; /* 0x0A of the piece, 0x0D of the piece */
    uint32_t returns;
    uint32_t damaged;  /* pieces, since the start */
    uint32_t last_length;
    uint32_t last_newlines;
    uint32_t last_returns;
    uint32_t length;   /* payload of the frame that was found */
    uint8_t piece[WIRE_STUFFED + 1];
};

/* One byte. 1: a frame is complete; it stands at the start of `piece` until the next call. -1: a damaged piece that is
 * not text has ended. 0: neither. */
int frame_byte(struct frame_receiver *receiver, uint8_t byte);
/* Undoes COBS in place; returns the length, or 0 when it is none. */
uint32_t frame_unstuff(uint8_t *data, uint32_t size);
/* Fills header and check of frame[WIRE_FRAME], whose payload is in place, and sends it. */
void frame_send(uint8_t *frame, uint32_t type, uint32_t length, uint32_t session, uint32_t sequence, uint32_t ack);

#endif
