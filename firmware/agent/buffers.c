/* Regions, buffers and everything that reads or writes them. docs/wire.md section 6. */
#include "state.h"
#include "emu_kernels.h"

void agent_drop_buffers(void)
{
    for (uint32_t i = 0; i < WIRE_BUFFERS; i++)
        agent_state.buffers[i].size = 0;
}

int agent_overlap(const uint8_t *a, uint32_t na, const uint8_t *b, uint32_t nb)
{
    return na != 0 && nb != 0 && a < b + nb && b < a + na;
}

void agent_touch(const uint8_t *start, uint32_t size)
{
    struct agent_span *spans[] = {&agent_state.checked, &agent_state.sequence};
    for (uint32_t i = 0; i < 2; i++)
        if (agent_overlap(start, size, spans[i]->start, spans[i]->size))
            spans[i]->size = 0;
}

uint32_t agent_rest(uint32_t buffer, uint32_t offset, int write, uint8_t **where, uint32_t *length)
{
    if (buffer >= WIRE_BUFFERS || agent_state.buffers[buffer].size == 0)
        return WIRE_NO_SUCH;
    const struct agent_buffer *found = &agent_state.buffers[buffer];
    if (offset > found->size)
        return WIRE_OUTSIDE;
    if (write && !found->writable)
        return WIRE_READ_ONLY;
    *where = found->start + offset;
    *length = found->size - offset;
    return WIRE_OK;
}

uint32_t agent_range(uint32_t buffer, uint32_t offset, uint32_t length, int write, uint8_t **where)
{
    uint8_t *start = 0;
    uint32_t rest = 0, status = agent_rest(buffer, offset, write, &start, &rest);
    if (status != WIRE_OK)
        return status;
    if (length > rest)
        return WIRE_OUTSIDE;
    *where = start;
    if (write)
        agent_touch(start, length);
    return WIRE_OK;
}

uint32_t agent_buffer(const uint8_t *in, uint32_t length, uint8_t *reply, uint32_t *out)
{
    if (length != 16)
        return WIRE_BAD_LENGTH;
    uint32_t buffer = get_u32(in), region = get_u32(in + 4), offset = get_u32(in + 8), size = get_u32(in + 12);
    if (buffer == WIRE_NONE) {
        agent_drop_buffers();
        *out = 8;
        put_u32(reply + 4, 0);
        return WIRE_OK;
    }
    if (buffer >= WIRE_BUFFERS || region >= agent_state.board->region_count)
        return WIRE_NO_SUCH;
    const struct agent_region *place = &agent_state.board->regions[region];
    if (((offset | size) & 15u) != 0)
        return WIRE_VALUE;
    if (offset > place->size || size > place->size - offset)
        return WIRE_OUTSIDE;
    agent_state.buffers[buffer].start = place->start + offset;
    agent_state.buffers[buffer].size = size;
    agent_state.buffers[buffer].writable = place->flags & WIRE_WRITABLE;
    put_u32(reply + 4, (uint32_t)(uintptr_t)(place->start + offset));
    *out = 8;
    return WIRE_OK;
}

uint32_t agent_map(const uint8_t *in, uint32_t length, uint8_t *reply, uint32_t *out)
{
    (void)reply, (void)out;
    if (length != 12)
        return WIRE_BAD_LENGTH;
    uint32_t offset = get_u32(in), size = get_u32(in + 4), psram = get_u32(in + 8), limit = 16u << 20;
    if (((offset | size | psram) & 0xFFFFu) != 0)
        return WIRE_VALUE;
    if (offset > limit || size > limit - offset || psram > limit || size + psram > limit)
        return WIRE_OUTSIDE;
    agent_drop_buffers();
    agent_state.checked.size = agent_state.sequence.size = 0;
    const struct agent_board *with = agent_port_board_with(offset, size, psram);
    if (with == 0)
        return WIRE_IMPOSSIBLE;
    agent_state.board = with;
    return WIRE_OK;
}

uint32_t agent_write(const uint8_t *in, uint32_t length, uint8_t *reply, uint32_t *out)
{
    (void)reply, (void)out;
    uint8_t *to = 0;
    if (length < 8)
        return WIRE_BAD_LENGTH;
    uint32_t status = agent_range(get_u32(in), get_u32(in + 4), length - 8, 1, &to);
    for (uint32_t i = 8; i < length && status == WIRE_OK; i++)
        *to++ = in[i];
    return status;
}

uint32_t agent_read(const uint8_t *in, uint32_t length, uint8_t *reply, uint32_t *out)
{
    uint8_t *from = 0;
    if (length != 12)
        return WIRE_BAD_LENGTH;
    uint32_t n = get_u32(in + 8), status = agent_range(get_u32(in), get_u32(in + 4), n, 0, &from);
    if (status != WIRE_OK)
        return status;
    if (n > WIRE_PAYLOAD - 4)
        return WIRE_VALUE;
    for (uint32_t i = 0; i < n; i++)
        reply[4 + i] = from[i];
    *out = 4 + n;
    return WIRE_OK;
}

uint32_t agent_fill(const uint8_t *in, uint32_t length, uint8_t *reply, uint32_t *out)
{
    (void)reply, (void)out;
    uint8_t *to = 0;
    if (length != 16)
        return WIRE_BAD_LENGTH;
    uint32_t n = get_u32(in + 8), status = agent_range(get_u32(in), get_u32(in + 4), n, 1, &to);
    uint32_t x = get_u32(in + 12), word = 0;
    if (x == 0)
        x = 0x9E3779B9u;
    for (uint32_t i = 0; i < n && status == WIRE_OK; i++, word >>= 8) {
        if (i % 4 == 0) {
            x ^= x << 13;
            x ^= x >> 17;
            x ^= x << 5;
            word = x;
        }
        *to++ = (uint8_t)word;
    }
    return status;
}

uint32_t agent_checksum(const uint8_t *in, uint32_t length, uint8_t *reply, uint32_t *out)
{
    uint32_t n = length >= 4 ? get_u32(in) : 0;
    if (length < 4 || n > (WIRE_PAYLOAD - 4) / 12 || length != 4 + 12 * n)
        return WIRE_BAD_LENGTH;
    for (uint32_t i = 0; i < n; i++) {
        const uint8_t *range = in + 4 + 12 * i;
        uint8_t *from = 0;
        uint32_t size = get_u32(range + 8);
        uint32_t status = agent_range(get_u32(range), get_u32(range + 4), size, 0, &from);
        if (status != WIRE_OK)
            return status;
        put_u32(reply + 4 + 4 * i, crc32_bytes(0, from, (int32_t)size));
    }
    *out = 4 + 4 * n;
    return WIRE_OK;
}
