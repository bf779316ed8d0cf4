#include "fragments.h"
#include "wire.h"

#define MARK 0xE5u

static uint64_t number_of(const uint8_t mac[6])
{
    uint64_t number = 1; /* never 0, which is a free slot */
    for (uint32_t i = 0; i < 6; i++)
        number = number << 8 | mac[i];
    return number;
}

void fragment_start(struct fragment_receiver *receiver, uint32_t longest, uint8_t *memory, uint32_t capacity)
{
    receiver->longest = longest;
    receiver->capacity = capacity;
    receiver->done_next = 0;
    for (uint32_t i = 0; i < FRAGMENT_SENDERS; i++) {
        receiver->slots[i].mac = receiver->done_mac[i] = 0;
        receiver->slots[i].buffer = memory + i * capacity;
    }
}

uint32_t fragment_count(uint32_t size, uint32_t longest)
{
    if (longest <= FRAGMENT_HEAD || longest > FRAGMENT_V2 || size == 0 || size > FRAGMENT_MAX * FRAGMENT_V2)
        return 0;
    uint32_t room = longest - FRAGMENT_HEAD, count = (size + room - 1) / room;
    return count <= FRAGMENT_MAX ? count : 0;
}

/* Bytes of each part but the last. */
static uint32_t part_of(uint32_t size, uint32_t count)
{
    return (size + count - 1) / count;
}

static uint32_t bytes_of(uint32_t size, uint32_t count, uint32_t index)
{
    uint32_t part = part_of(size, count), at = index * part;
    return at >= size ? 0 : size - at < part ? size - at : part;
}

uint32_t fragment_put(uint8_t *frame, uint32_t longest, const uint8_t *message, uint32_t size, uint32_t id,
                      uint32_t index)
{
    uint32_t count = fragment_count(size, longest);
    if (index >= count)
        return 0;
    uint32_t n = bytes_of(size, count, index), at = index * part_of(size, count);
    frame[0] = MARK;
    frame[1] = 0;
    put_u32(put_u16(put_u16(put_u16(frame + 2, id), index), count), size);
    for (uint32_t i = 0; i < n; i++)
        frame[FRAGMENT_HEAD + i] = message[at + i];
    return FRAGMENT_HEAD + n;
}

static int is_over(const struct fragment_slot *slot, uint32_t now)
{
    return slot->mac != 0 && now - slot->changed > FRAGMENT_TIMEOUT;
}

static struct fragment_slot *slot_for(struct fragment_receiver *receiver, uint64_t mac, uint32_t id, uint32_t now)
{
    struct fragment_slot *empty = 0;
    for (uint32_t i = 0; i < FRAGMENT_SENDERS; i++) {
        struct fragment_slot *slot = &receiver->slots[i];
        if (is_over(slot, now))
            slot->mac = 0;
        if (slot->mac == mac && slot->id == id)
            return slot;
        if (slot->mac == 0 && empty == 0)
            empty = slot;
    }
    return empty;
}

static int is_done(const struct fragment_receiver *receiver, uint64_t mac, uint32_t id)
{
    for (uint32_t i = 0; i < FRAGMENT_SENDERS; i++)
        if (receiver->done_mac[i] == mac && receiver->done_id[i] == id)
            return 1;
    return 0;
}

static void finish(struct fragment_receiver *receiver, struct fragment_slot *slot)
{
    receiver->done_mac[receiver->done_next] = slot->mac;
    receiver->done_id[receiver->done_next] = slot->id;
    receiver->done_next = (receiver->done_next + 1) % FRAGMENT_SENDERS;
    slot->mac = 0;
}

int32_t fragment_take(struct fragment_receiver *receiver, const uint8_t mac[6], const uint8_t *frame, uint32_t length,
                      uint32_t now, const uint8_t **message, uint32_t *size)
{
    if (length > receiver->longest)
        return FRAGMENT_TOO_LONG;
    if (length < FRAGMENT_HEAD || frame[0] != MARK || frame[1] != 0)
        return FRAGMENT_STRANGE;
    uint32_t id = get_u16(frame + 2), index = get_u16(frame + 4), count = get_u16(frame + 6), total = get_u32(frame + 8);
    if (count == 0 || count > FRAGMENT_MAX || index >= count || total == 0)
        return FRAGMENT_STRANGE;
    if (total > receiver->capacity)
        return FRAGMENT_NO_ROOM;
    if (length != FRAGMENT_HEAD + bytes_of(total, count, index))
        return FRAGMENT_STRANGE;
    uint64_t from = number_of(mac);
    if (is_done(receiver, from, id))
        return FRAGMENT_NOTHING;
    struct fragment_slot *slot = slot_for(receiver, from, id, now);
    if (slot == 0)
        return FRAGMENT_NO_ROOM;
    if (slot->mac == 0)
        *slot = (struct fragment_slot){from, 0, total, count, id, now, slot->buffer};
    if (slot->size != total || slot->count != count)
        return FRAGMENT_STRANGE;
    if ((slot->have >> index & 1u) != 0)
        return FRAGMENT_NOTHING; /* a repeated part does not keep a message alive */
    slot->have |= (uint64_t)1 << index;
    slot->changed = now;
    for (uint32_t i = FRAGMENT_HEAD, at = index * part_of(total, count); i < length; i++)
        slot->buffer[at++] = frame[i];
    if (slot->have != (count == 64 ? ~(uint64_t)0 : ((uint64_t)1 << count) - 1))
        return FRAGMENT_NOTHING;
    *message = slot->buffer;
    *size = total;
    finish(receiver, slot);
    return FRAGMENT_MESSAGE;
}
