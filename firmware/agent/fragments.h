/* Messages over radio frames of limited size (ESP-NOW: 250 bytes in version 1, 1470 in version 2). Portable, no allocation.
 *
 * A frame is `u8 0xE5, u8 0, u16 id, u16 index, u16 count, u32 size` and a part of the message: all parts but the last have the same
 * length, which follows from size and count.
 */
#ifndef EMU_FRAGMENTS_H
#define EMU_FRAGMENTS_H

#include <stdint.h>

#define FRAGMENT_HEAD 12u
#define FRAGMENT_V1 250u
#define FRAGMENT_V2 1470u
#define FRAGMENT_MAX 64u     /* parts of a message */
#define FRAGMENT_SENDERS 4u  /* messages that may be incomplete at one time */
#define FRAGMENT_TIMEOUT 500u /* milliseconds without a new part */

enum fragment_result {
    FRAGMENT_NOTHING = 0,   /* taken, or had already */
    FRAGMENT_MESSAGE = 1,   /* complete */
    FRAGMENT_TOO_LONG = -1, /* longer than this receiver takes: nothing was copied */
    FRAGMENT_STRANGE = -2,  /* not one of ours, or it contradicts itself */
    FRAGMENT_NO_ROOM = -3,  /* message too large, or too many at one time */
};

/* One message that is not complete yet. mac 0: free. */
struct fragment_slot {
    uint64_t mac;
    uint64_t have;
    uint32_t size;
    uint32_t count;
    uint32_t id;
    uint32_t changed; /* milliseconds of the last new part */
    uint8_t *buffer;
};

struct fragment_receiver {
    uint32_t longest;  /* frame that is taken: FRAGMENT_V1 or FRAGMENT_V2 */
    uint32_t capacity; /* bytes of each slot's buffer */
    struct fragment_slot slots[FRAGMENT_SENDERS];
    uint64_t done_mac[FRAGMENT_SENDERS]; /* messages completed last: their repeated parts are no new message */
    uint32_t done_id[FRAGMENT_SENDERS];
    uint32_t done_next;
};

/* memory: FRAGMENT_SENDERS * capacity bytes. */
void fragment_start(struct fragment_receiver *receiver, uint32_t longest, uint8_t *memory, uint32_t capacity);
/* Parts that a message of `size` bytes takes in frames of at most `longest` bytes; 0: it cannot be sent. */
uint32_t fragment_count(uint32_t size, uint32_t longest);
/* Frame number `index` of a message into frame[longest]; its length, 0 when refused. */
uint32_t fragment_put(uint8_t *frame, uint32_t longest, const uint8_t *message, uint32_t size, uint32_t id,
                      uint32_t index);
/* A frame came. FRAGMENT_MESSAGE: *message, *size until the next call. now: milliseconds, may wrap. */
int32_t fragment_take(struct fragment_receiver *receiver, const uint8_t mac[6], const uint8_t *frame, uint32_t length,
                      uint32_t now, const uint8_t **message, uint32_t *size);

#endif
