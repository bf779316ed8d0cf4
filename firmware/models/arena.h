/* Working memory of a run: a stack of buffers in run->arena and one in run->slow, with high-water marks.
 *
 * A buffer that does not fit still gets an address and counts: a caller takes all it needs, asks memory_status once,
 * and touches nothing when the answer is not 0. So the marks say what would have been enough.
 */
#ifndef EMU_ARENA_H
#define EMU_ARENA_H

#include "emu_models.h"

void arena_reset(struct emu_run *run);
/* 16-byte aligned. */
void *arena_take(struct emu_run *run, uint32_t bytes);
void *slow_take(struct emu_run *run, uint32_t bytes);

/* Everything taken after the mark is given back. */
static inline uint32_t arena_mark(const struct emu_run *run)
{
    return run->arena_used;
}

static inline void arena_release(struct emu_run *run, uint32_t mark)
{
    run->arena_used = mark;
}

/* 0; 3 when the memory is misaligned; 6 when more is taken than there is. */
int32_t memory_status(const struct emu_run *run);

/* What a refused model file leaves in the run. */
static inline void keep_model_error(struct emu_run *run, const struct emu_model_error *error)
{
    run->bad = error->tensor;
    run->reason = error->reason;
    run->row = error->row;
    run->column = error->column;
}

#define TAKE(run, type, count) ((type *)arena_take(run, (uint32_t)sizeof(type) * (uint32_t)(count)))

#endif
