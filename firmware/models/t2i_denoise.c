/* The denoiser: one evaluation for both guidance branches. models.md section 1. */
#include "emu_model_kernels.h"
#include "t2i.h"

#define HALF_BLOCK 3 /* rows of the modulation that one half of a block uses: shift, scale, gate */

/* Both branches see the same z: tokens once, then copied. */
static int32_t embed_patches(struct t2i *t)
{
    uint32_t mark = arena_mark(t->run);
    float *tokens = TAKE(t->run, float, TOKENS *PATCH_WIDTH);
    int8_t *q = TAKE(t->run, int8_t, TOKENS *PATCH_WIDTH);
    int32_t status = memory_status(t->run), bad = 0;
    if (status == EMU_OK) {
        patch(t->z, SIDE, SIDE, LATENT_CHANNELS, tokens, PATCH_WIDTH);
        status = quantize_row_s8(tokens, PATCH_WIDTH, q, PATCH_WIDTH, t->sx, TOKENS, PATCH_WIDTH, &bad);
    }
    t->run->branch = 0;
    struct t2i_linear linear = {q,     PATCH_WIDTH, t->sx, TOKENS, layer_at(t, T2I_PATCH, 0, 0),
                                WIDTH, PATCH_WIDTH, t->x,  WIDTH};
    if (status != EMU_OK)
        status = stage_status(t->run, "s#.@.patch", status, bad);
    else
        status = t2i_linear(t, &linear);
    arena_release(t->run, mark);
    if (status != EMU_OK)
        return status;
    add_array(t->x, model_floats(&t->model, T2I_POS), t->x, TOKENS * WIDTH);
    for (int32_t i = 0; i < TOKENS * WIDTH; i++)
        t->x[TOKENS * WIDTH + i] = t->x[i];
    TAP_BRANCHES(t, "s#.@.patch", t->x, TOKENS, WIDTH, WIDTH);
    return EMU_OK;
}

/* Rows `first` .. first + 2 of mod + table for both branches: m [2][HALF_BLOCK][WIDTH]. */
static void half_modulation(const struct t2i *t, int32_t first, float *m)
{
    const float *table = model_floats(&t->model, T2I_BLOCK + t->run->block * T2I_BLOCK_SIZE + BLOCK_TABLE);
    for (int32_t b = 0; b < 2; b++)
        add_array(t->mod + b * MOD_WIDTH + first * WIDTH, table + first * WIDTH, m + b * HALF_BLOCK * WIDTH,
                  HALF_BLOCK * WIDTH);
}

/* layernorm and modulation of x, shown to the tap, quantized. */
static int32_t normed_rows(struct t2i *t, const char *stage, int tapped, const float *sh, const float *sc,
                           int32_t stride)
{
    uint32_t mark = arena_mark(t->run);
    float *y = TAKE(t->run, float, ROWS *WIDTH);
    int32_t status = memory_status(t->run);
    if (status == EMU_OK)
        status = t2i_norm(t, y, sh, sc, stride);
    if (status == EMU_OK && tapped)
        TAP_BRANCHES(t, stage, y, TOKENS, WIDTH, WIDTH);
    if (status == EMU_OK)
        status = t2i_quantize(t, stage, y, WIDTH, 0, ROWS);
    arena_release(t->run, mark);
    return status;
}

typedef int32_t half_of_block(struct t2i *t, const float *gates, int32_t stride);

static int32_t run_half(struct t2i *t, const char *stage, int32_t first, float *m, half_of_block *half)
{
    int32_t stride = HALF_BLOCK * WIDTH;
    half_modulation(t, first, m);
    int32_t status = normed_rows(t, stage, 1, m, m + WIDTH, stride);
    return status == EMU_OK ? half(t, m + 2 * WIDTH, stride) : status;
}

static int32_t blocks(struct t2i *t)
{
    uint32_t mark = arena_mark(t->run);
    float *m = TAKE(t->run, float, 2 * HALF_BLOCK * WIDTH);
    int32_t status = memory_status(t->run);
    for (int32_t i = 0; i < BLOCKS && status == EMU_OK; i++) {
        t->run->block = i;
        status = run_half(t, "s#.@.b*.ln1", SH1, m, t2i_attention);
        if (status == EMU_OK)
            status = run_half(t, "s#.@.b*.ln2", SH2, m, t2i_mlp);
    }
    arena_release(t->run, mark);
    return status;
}

int32_t t2i_denoise(struct t2i *t)
{
    int32_t status = embed_patches(t);
    return status == EMU_OK ? blocks(t) : status;
}

int32_t t2i_velocity(struct t2i *t, float *v)
{
    const float *c = t2i_final_mod(t, 0), *u = t2i_final_mod(t, 1);
    int32_t status = normed_rows(t, "s#.@.v", 0, c, c + WIDTH, (int32_t)(u - c));
    if (status != EMU_OK)
        return status;
    uint32_t mark = arena_mark(t->run);
    float *tokens = TAKE(t->run, float, ROWS *PATCH_WIDTH);
    struct t2i_linear linear = {t->q,        WIDTH, t->sx,  ROWS,       layer_at(t, T2I_FINAL, 0, 0),
                                PATCH_WIDTH, WIDTH, tokens, PATCH_WIDTH};
    status = memory_status(t->run);
    if (status == EMU_OK)
        status = t2i_linear(t, &linear);
    for (int32_t b = 0; b < 2 && status == EMU_OK; b++)
        unpatch(tokens + b * TOKENS * PATCH_WIDTH, PATCH_WIDTH, SIDE, SIDE, LATENT_CHANNELS, v + b * LATENT);
    arena_release(t->run, mark);
    if (status == EMU_OK)
        TAP_BRANCHES(t, "s#.@.v", v, 1, LATENT, LATENT);
    return status;
}
