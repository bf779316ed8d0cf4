/* The decoder: latent to picture. models.md section 1. Activations in two buffers of slow memory. */
#include "emu_model_kernels.h"
#include "t2i.h"

#define ACTIVATION_BYTES (PICTURE_SIDE * PICTURE_SIDE * 32)

struct conv_shape {
    uint8_t side; /* of the input as stored */
    uint8_t channels;
    uint8_t outs;
    uint8_t up;
    uint8_t residual; /* adds the input of the convolution before, in place */
    uint8_t relu;
};

static const struct conv_shape convs[CONVS] = {
    {16, 4, 64, 0, 0, 0},  {16, 64, 64, 0, 0, 1}, {16, 64, 64, 0, 1, 1}, {16, 64, 48, 1, 0, 0}, {32, 48, 48, 0, 0, 1},
    {32, 48, 48, 0, 1, 1}, {32, 48, 32, 1, 0, 0}, {64, 32, 32, 0, 0, 1}, {64, 32, 32, 0, 1, 1}, {64, 32, 3, 0, 0, 1},
};

#define MOST_CONV_SCRATCH EMU_CONV_SCRATCH(PICTURE_SIDE, 48, 32) /* of conv 6, the largest */

struct decoder {
    struct t2i *t;
    const float *s_in;
    int32_t k;
    const int8_t *x;
    int8_t *y;
    float *last; /* [64][64][3], of conv 9 */
    uint8_t *scratch[EMU_CORES];
};

/* Units: rows of the output. */
static int32_t conv_part(void *arg, int32_t first, int32_t end, int32_t core)
{
    const struct decoder *d = arg;
    const struct conv_shape *c = &convs[d->k];
    struct model_layer l = model_layer(&d->t->model, T2I_DEC_CONV + 3 * d->k);
    const float *s = d->s_in + d->k;
    int32_t w_stride = EMU_PAD16(9 * c->channels), rows = end - first;
    if (d->k == CONVS - 1)
        return conv3x3_f32(d->x, c->side, c->side, c->channels, c->up, c->relu, s[0], l.w, w_stride, l.sw, l.b,
                           c->outs, d->last, first, rows, d->scratch[core]);
    if (c->residual)
        return conv3x3_add_s8(d->x, c->side, c->side, c->channels, c->up, c->relu, s[0], l.w, w_stride, l.sw, l.b,
                              c->outs, s[-1], s[1], d->y, first, rows, d->scratch[core]);
    return conv3x3_s8(d->x, c->side, c->side, c->channels, c->up, c->relu, s[0], l.w, w_stride, l.sw, l.b, c->outs,
                      s[1], d->y, first, rows, d->scratch[core]);
}

/* Each convolution writes the buffer that it does not read; there the residual ones find what they add. */
static int32_t run_convs(struct decoder *d, int8_t *from, int8_t *to)
{
    struct emu_run *run = d->t->run;
    int32_t status = EMU_OK;
    for (d->k = 0; d->k < CONVS && status == EMU_OK; d->k++) {
        int32_t side = convs[d->k].side << convs[d->k].up, row = side * convs[d->k].outs;
        d->x = from;
        d->y = to;
        status = run_parts(run, conv_part, d, side);
        run->block = d->k;
        if (status == EMU_OK && d->k < CONVS - 1)
            EMU_TAP(run, "dec.conv*", to, EMU_S8, side, row, row);
        from = to;
        to = (int8_t *)(uintptr_t)d->x;
    }
    return status;
}

static int32_t decode(struct decoder *d, uint8_t *rgb)
{
    struct t2i *t = d->t;
    int8_t *from = slow_take(t->run, ACTIVATION_BYTES), *to = slow_take(t->run, ACTIVATION_BYTES);
    d->last = TAKE(t->run, float, T2I_RGB_BYTES);
    for (int32_t core = 0; core < EMU_CORES; core++)
        d->scratch[core] = TAKE(t->run, uint8_t, MOST_CONV_SCRATCH);
    int32_t status = memory_status(t->run);
    if (status != EMU_OK)
        return status;
    quantize_static_s8(t->z, from, LATENT, d->s_in[0]);
    EMU_TAP(t->run, "dec.in", from, EMU_S8, 1, LATENT, LATENT);
    status = run_convs(d, from, to);
    if (status != EMU_OK)
        return status;
    EMU_TAP(t->run, "dec.conv9", d->last, EMU_F32, 1, T2I_RGB_BYTES, T2I_RGB_BYTES);
    to_rgb(d->last, rgb, T2I_RGB_BYTES);
    EMU_TAP(t->run, "rgb", rgb, EMU_U8, 1, T2I_RGB_BYTES, T2I_RGB_BYTES);
    return EMU_OK;
}

int32_t t2i_decode(struct t2i *t, uint8_t *rgb)
{
    struct decoder d = {.t = t, .s_in = model_floats(&t->model, T2I_DEC_S_IN)};
    uint32_t mark = arena_mark(t->run);
    int32_t status = decode(&d, rgb);
    arena_release(t->run, mark);
    return status;
}
