/* Working memory of a run. See arena.h. */
#include "arena.h"

#define ALIGNMENT 16u

static void *take(uint8_t *base, uint32_t bytes, uint32_t *used, uint32_t *high)
{
    uint8_t *at = base + *used;
    *used += (bytes + ALIGNMENT - 1) & ~(ALIGNMENT - 1);
    if (*used > *high)
        *high = *used;
    return at;
}

void arena_reset(struct emu_run *run)
{
    run->arena_used = run->arena_high = 0;
    run->slow_used = run->slow_high = 0;
}

void *arena_take(struct emu_run *run, uint32_t bytes)
{
    return take(run->arena, bytes, &run->arena_used, &run->arena_high);
}

void *slow_take(struct emu_run *run, uint32_t bytes)
{
    return take(run->slow, bytes, &run->slow_used, &run->slow_high);
}

int32_t memory_status(const struct emu_run *run)
{
    if ((((uintptr_t)run->arena | (uintptr_t)run->slow) & (ALIGNMENT - 1)) != 0)
        return EMU_MISALIGNED;
    return run->arena_used > run->arena_bytes || run->slow_used > run->slow_bytes ? EMU_OUT_OF_MEMORY : EMU_OK;
}
