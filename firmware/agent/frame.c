#include "frame.h"
#include "agent_port.h"
#include "emu_kernels.h"

uint32_t frame_unstuff(uint8_t *data, uint32_t size)
{
    uint32_t in = 0, out = 0;
    while (in < size) {
        uint32_t code = data[in++];
        if (code == 0 || code - 1 > size - in)
            return 0;
        for (uint32_t i = 1; i < code; i++)
            data[out++] = data[in++];
        if (code != 255 && in < size)
            data[out++] = 0;
    }
    return out;
}

static int is_frame(struct frame_receiver *receiver)
{
    uint8_t *piece = receiver->piece;
    uint32_t size = frame_unstuff(piece, receiver->used);
    if (size < WIRE_HEADER + WIRE_CHECK || piece[0] != WIRE_VERSION)
        return 0;
    receiver->length = get_u16(piece + 2);
    return receiver->length == size - WIRE_HEADER - WIRE_CHECK && receiver->length <= WIRE_PAYLOAD &&
           get_u32(piece + size - WIRE_CHECK) == crc32_bytes(0, piece, (int32_t)(size - WIRE_CHECK));
}

static int is_text(const struct frame_receiver *receiver)
{
    uint32_t n = receiver->used < WIRE_STUFFED ? receiver->used : WIRE_STUFFED;
    for (uint32_t i = 0; i < n; i++) {
        uint8_t byte = receiver->piece[i];
        if (byte < 0x20 ? (byte < 7 || byte > 13) && byte != 27 : byte >= 0x7F)
            return 0;
    }
    return 1;
}

/* The end of a piece. Text is looked for first: undoing COBS destroys it. */
static int ended(struct frame_receiver *receiver)
{
    int text = is_text(receiver);
    if (receiver->used <= WIRE_STUFFED && is_frame(receiver))
        return 1;
    receiver->damaged++;
    receiver->last_length = receiver->used;
    receiver->last_newlines = receiver->newlines;
    receiver->last_returns = receiver->returns;
    return text ? 0 : -1;
}

int frame_byte(struct frame_receiver *receiver, uint8_t byte)
{
    if (byte == 0) {
        int result = receiver->used != 0 ? ended(receiver) : 0;
        receiver->used = receiver->newlines = receiver->returns = 0;
        return result;
    }
    receiver->newlines += byte == 0x0A;
    receiver->returns += byte == 0x0D;
    if (receiver->used <= WIRE_STUFFED)
        receiver->piece[receiver->used++] = byte;
    return 0;
}

/* COBS of data[size], from one zero to the next. */
static void send_stuffed(const uint8_t *data, uint32_t size)
{
    uint32_t at = 0;
    int more = 1;
    while (more) {
        uint32_t run = 0;
        while (run < 254 && at + run < size && data[at + run] != 0)
            run++;
        uint8_t code = (uint8_t)(run + 1);
        agent_port_write(&code, 1);
        agent_port_write(data + at, run);
        at += run;
        if (run == 254)
            more = at < size;
        else if ((more = at < size) != 0)
            at++; /* the zero that ended the run */
    }
}

void frame_send(uint8_t *frame, uint32_t type, uint32_t length, uint32_t session, uint32_t sequence, uint32_t ack)
{
    static const uint8_t zero = 0;
    frame[0] = WIRE_VERSION;
    frame[1] = (uint8_t)type;
    put_u16(frame + 2, length);
    put_u32(put_u32(put_u32(frame + 4, session), sequence), ack);
    uint32_t size = WIRE_HEADER + length;
    put_u32(frame + size, crc32_bytes(0, frame, (int32_t)size));
    agent_port_write(&zero, 1);
    send_stuffed(frame, size + WIRE_CHECK);
    agent_port_write(&zero, 1);
}
