/* Time and condition of a step: temb, cond, mod, final.mod. models.md section 1. */
#include "emu_model_kernels.h"
#include "linear_w8a8.h"
#include "t2i.h"

#define BRANCHES 2

/* Quantized rows of a small layer. */
struct rows8 {
    int8_t *q;
    float *scale;
};

/* rows of x through a layer; a status 4 is of `stage`. */
static int32_t small_linear(struct t2i *t, const struct rows8 *rows8, const char *stage, int32_t id, const float *x,
                            int32_t rows, int32_t cols, int32_t outs, float *y, int32_t y_stride)
{
    int32_t bad = 0;
    int32_t status = quantize_row_s8(x, cols, rows8->q, cols, rows8->scale, rows, cols, &bad);
    if (status != EMU_OK) {
        t->run->branch = bad;
        return stage_status(t->run, stage, status, bad);
    }
    struct t2i_linear linear = {rows8->q, cols, rows8->scale, rows, layer_at(t, id, 0, 0), outs, cols, y, y_stride};
    return t2i_linear(t, &linear);
}

static int32_t embed_time(struct t2i *t, const struct rows8 *rows8, float *wide)
{
    float time = 1.0f - (float)t->run->step / (float)t->request->steps;
    float *hidden = t->cond; /* not needed yet */
    time_embedding(time, model_floats(&t->model, T2I_TIME_FREQ), wide, TIME_WIDTH / 2);
    int32_t status = small_linear(t, rows8, "s#.temb", T2I_TIME_FC1, wide, 1, TIME_WIDTH, WIDTH, hidden, WIDTH);
    silu_in_place(hidden, WIDTH);
    if (status == EMU_OK)
        status = small_linear(t, rows8, "s#.temb", T2I_TIME_FC2, hidden, 1, WIDTH, WIDTH, t->temb, WIDTH);
    if (status == EMU_OK)
        EMU_TAP(t->run, "s#.temb", t->temb, EMU_F32, 1, WIDTH, WIDTH);
    return status;
}

const float *t2i_final_mod(const struct t2i *t, int32_t branch)
{
    return t->final_mod + branch * FINAL_MOD_STRIDE;
}

static void tap_final_mod(struct t2i *t)
{
    for (t->run->branch = 0; t->run->branch < BRANCHES; t->run->branch++)
        EMU_TAP(t->run, "s#.@.final.mod", t2i_final_mod(t, t->run->branch), EMU_F32, 1, 2 * WIDTH, 2 * WIDTH);
}

static int32_t modulations(struct t2i *t, const struct rows8 *rows8, float *activated)
{
    for (int32_t b = 0; b < BRANCHES; b++)
        add_array(t->temb, t->ctext + b * WIDTH, t->cond + b * WIDTH, WIDTH);
    TAP_BRANCHES(t, "s#.@.cond", t->cond, 1, WIDTH, WIDTH);
    silu_array(t->cond, activated, BRANCHES * WIDTH);
    int32_t status =
        small_linear(t, rows8, "s#.@.mod", T2I_MOD, activated, BRANCHES, WIDTH, MOD_WIDTH, t->mod, MOD_WIDTH);
    if (status == EMU_OK)
        status = small_linear(t, rows8, "s#.@.final.mod", T2I_FINAL_MOD, activated, BRANCHES, WIDTH, 2 * WIDTH,
                              t->final_mod, FINAL_MOD_STRIDE);
    if (status != EMU_OK)
        return status;
    TAP_BRANCHES(t, "s#.@.mod", t->mod, 1, MOD_WIDTH, MOD_WIDTH);
    tap_final_mod(t);
    return EMU_OK;
}

int32_t t2i_condition(struct t2i *t)
{
    uint32_t mark = arena_mark(t->run);
    float *activated = TAKE(t->run, float, BRANCHES *WIDTH); /* and the time embedding, which is shorter */
    struct rows8 rows8 = {TAKE(t->run, int8_t, BRANCHES *WIDTH), TAKE(t->run, float, BRANCHES)};
    int32_t status = memory_status(t->run);
    if (status == EMU_OK)
        status = embed_time(t, &rows8, activated);
    if (status == EMU_OK)
        status = modulations(t, &rows8, activated);
    arena_release(t->run, mark);
    return status;
}
