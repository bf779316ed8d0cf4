/* Numbers of docs/wire.md. */
#ifndef EMU_WIRE_H
#define EMU_WIRE_H

#include <stdint.h>

#define WIRE_VERSION 1u
#define WIRE_AGENT_VERSION 1u
#define WIRE_SPEC_VERSION 1u
#define WIRE_HEADER 16u
#define WIRE_CHECK 4u
#define WIRE_PAYLOAD 1040u /* longest payload */
#define WIRE_FRAME (WIRE_HEADER + WIRE_PAYLOAD + WIRE_CHECK)
#define WIRE_STUFFED (WIRE_FRAME + WIRE_FRAME / 254u + 1u) /* without the zeros around it */
#define WIRE_WINDOW 16u
#define WIRE_BUFFERS 32u
#define WIRE_ARGUMENTS 24u
#define WIRE_NAME 24u

#define WIRE_HELLO_WORD 0x31554D45u
#define WIRE_RESET_WORD 0x54455352u
#define WIRE_NONE 0xFFFFFFFFu
#define WIRE_NULL 0xFFFFFFFEu
#define WIRE_CALL_NOWHERE 1u /* flags of CALL */

enum wire_type {
    WIRE_HELLO = 0x01,
    WIRE_POLL = 0x02,
    WIRE_PING = 0x03,
    WIRE_RESET = 0x04,
    WIRE_LIST = 0x10,
    WIRE_BUFFER = 0x11,
    WIRE_WRITE = 0x12,
    WIRE_READ = 0x13,
    WIRE_FILL = 0x14,
    WIRE_CHECKSUM = 0x15,
    WIRE_CALL = 0x16,
    WIRE_RUN = 0x17,
    WIRE_BAUD = 0x18,
    WIRE_MAP = 0x19,
    WIRE_REPLY = 0x80, /* added to the type of a request */
    WIRE_LOG = 0xC0,
    WIRE_BOOT = 0xC1,
    WIRE_MARK = 0xC2,
};

enum wire_status {
    WIRE_OK = 0,
    WIRE_UNKNOWN_TYPE = 1,
    WIRE_BAD_LENGTH = 2,
    WIRE_NO_SUCH = 3,
    WIRE_OUTSIDE = 4,
    WIRE_READ_ONLY = 5,
    WIRE_NO_ROOM = 6,
    WIRE_FINGERPRINT = 7,
    WIRE_ARGUMENT = 8,
    WIRE_VALUE = 9,
    WIRE_IMPOSSIBLE = 10,
    WIRE_SIZE = 11,    /* this and those after it are followed by the number of an argument in CALL's reply */
    WIRE_OVERLAP = 12,
};

enum wire_flags { WIRE_CONCURRENT = 1, WIRE_CAN_BAUD = 2, WIRE_RESTARTS = 4 };
enum wire_region_flags { WIRE_WRITABLE = 1, WIRE_CACHED = 2 };
enum wire_run_flags { WIRE_TRUST = 1, WIRE_DIGESTS = 2, WIRE_BOTH_CORES = 4 };
enum wire_reason {
    WIRE_POWER_ON = 0,
    WIRE_ASKED = 1,
    WIRE_EXCEPTION = 2,
    WIRE_ENDLESS = 3,
    WIRE_DAMAGED = 4,
};

static inline uint32_t get_u16(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8;
}

static inline uint32_t get_u32(const uint8_t *p)
{
    return get_u16(p) | get_u16(p + 2) << 16;
}

static inline uint8_t *put_u16(uint8_t *p, uint32_t value)
{
    p[0] = (uint8_t)value;
    p[1] = (uint8_t)(value >> 8);
    return p + 2;
}

static inline uint8_t *put_u32(uint8_t *p, uint32_t value)
{
    return put_u16(put_u16(p, value), value >> 16);
}

static inline uint8_t *put_u64(uint8_t *p, uint64_t value)
{
    return put_u32(put_u32(p, (uint32_t)value), (uint32_t)(value >> 32));
}

#endif
