/* What the board offers: regions, kernels, models; names and fingerprints. docs/wire.md section 6. */
#include "state.h"
#include "emu_kernels.h"

uint32_t agent_length(const char *text)
{
    uint32_t n = 0;
    while (text[n] != 0)
        n++;
    return n;
}

void agent_pad(char *to, const char *text, uint32_t size)
{
    uint32_t i = 0;
    for (; i + 1 < size && text[i] != 0; i++)
        to[i] = text[i];
    for (; i < size; i++)
        to[i] = 0;
}

void agent_set_where(const char *name)
{
    agent_pad(agent_state.where, name, WIRE_NAME);
}

struct agent_kernel agent_kernel(uint32_t index)
{
    if (index >= agent_state.table)
        return agent_extra[index - agent_state.table];
    return (struct agent_kernel){
        emu_kernel_table[index].name, agent_signatures[index], agent_extents[index], emu_kernel_table[index].function};
}

uint32_t agent_fingerprint(const char *name, const char *signature)
{
    uint32_t crc = crc32_bytes(0, (const uint8_t *)name, (int32_t)agent_length(name));
    crc = crc32_bytes(crc, (const uint8_t *)" ", 1);
    return crc32_bytes(crc, (const uint8_t *)signature, (int32_t)agent_length(signature));
}

/* u32 fingerprint, u8 n, `name signature`: its size, 0 when it does not fit. */
static uint32_t put_function(uint8_t *to, uint32_t room, const char *name, const char *signature)
{
    uint32_t a = agent_length(name), b = agent_length(signature), n = a + 1 + b;
    if (n > 255 || 5 + n > room)
        return 0;
    put_u32(to, agent_fingerprint(name, signature));
    to[4] = (uint8_t)n;
    for (uint32_t i = 0; i < a; i++)
        to[5 + i] = (uint8_t)name[i];
    to[5 + a] = ' ';
    for (uint32_t i = 0; i < b; i++)
        to[6 + a + i] = (uint8_t)signature[i];
    return 5 + n;
}

static uint32_t put_region(uint8_t *to, uint32_t room, const struct agent_region *region)
{
    if (room < 32)
        return 0;
    to = put_u32(put_u32(to, (uint32_t)(uintptr_t)region->start), region->size);
    agent_pad((char *)put_u32(to, region->flags), region->name, 20);
    return 32;
}

static uint32_t put_entry(uint8_t *to, uint32_t room, uint32_t what, uint32_t i)
{
    if (what == 0)
        return put_region(to, room, &agent_state.board->regions[i]);
    if (what == 1) {
        struct agent_kernel kernel = agent_kernel(i);
        return put_function(to, room, kernel.name, kernel.signature);
    }
    return put_function(to, room, agent_models[i].name, agent_models[i].signature);
}

uint32_t agent_list(const uint8_t *in, uint32_t length, uint8_t *reply, uint32_t *out)
{
    if (length != 8)
        return WIRE_BAD_LENGTH;
    uint32_t totals[] = {agent_state.board->region_count, agent_state.kernels, AGENT_MODELS};
    uint32_t what = get_u32(in), first = get_u32(in + 4), n = 0, at = 12, size = 0;
    if (what > 2)
        return WIRE_NO_SUCH;
    for (uint32_t i = first; i < totals[what]; i++, n++, at += size)
        if ((size = put_entry(reply + at, WIRE_PAYLOAD - at, what, i)) == 0)
            break;
    put_u32(put_u32(reply + 4, totals[what]), n);
    *out = at;
    return WIRE_OK;
}
