/* Pieces of work of the text-to-image model that are shared out to the cores. */
#include "bits.h"
#include "emu_model_kernels.h"
#include "t2i.h"

/* A job of rows that may meet an element that is not finite. */
static int32_t first_bad(const int32_t *bad)
{
    return bad[0] >= 0 ? bad[0] : bad[1];
}

struct linear_job {
    const struct t2i *t;
    const struct t2i_linear *linear;
    int32_t w_stride;
};

static int32_t linear_part(void *arg, int32_t first, int32_t end, int32_t core)
{
    const struct linear_job *job = arg;
    const struct t2i_linear *l = job->linear;
    return linear_q8(l->x, l->x_stride, l->sx, l->rows, l->layer.w + first * job->w_stride, job->w_stride,
                     l->layer.sw + first, l->layer.b + first, end - first, l->cols, l->y + first, l->y_stride,
                     job->t->sums[core]);
}

static int32_t accumulate_part(void *arg, int32_t first, int32_t end, int32_t core)
{
    const struct linear_job *job = arg;
    const struct t2i_linear *l = job->linear;
    return accumulate_q8(l->x, l->x_stride, l->sx, l->rows, l->layer.w + first * job->w_stride, job->w_stride,
                         l->layer.sw + first, end - first, l->cols, l->y + first, l->y_stride, job->t->sums[core]);
}

struct model_layer layer_at(const struct t2i *t, int32_t id, int32_t out, int32_t w_stride)
{
    struct model_layer layer = model_layer(&t->model, id);
    return (struct model_layer){layer.w + out * w_stride, layer.sw + out, layer.b + out};
}

int32_t t2i_linear(struct t2i *t, const struct t2i_linear *linear)
{
    struct linear_job job = {t, linear, EMU_PAD16(linear->cols)};
    return run_parts(t->run, linear_part, &job, linear->outs);
}

int32_t t2i_accumulate(struct t2i *t, const struct t2i_linear *linear, int32_t w_stride)
{
    struct linear_job job = {t, linear, w_stride};
    return run_parts(t->run, accumulate_part, &job, linear->outs);
}

struct quantize_job {
    const float *x;
    int32_t stride;
    int8_t *q;
    float *sx;
    int32_t bad[EMU_CORES];
};

static int32_t quantize_part(void *arg, int32_t first, int32_t end, int32_t core)
{
    struct quantize_job *job = arg;
    int32_t bad = 0;
    int32_t status = quantize_row_s8(job->x + first * job->stride, job->stride, job->q + first * WIDTH, WIDTH,
                                     job->sx + first, end - first, WIDTH, &bad);
    if (status != EMU_OK)
        job->bad[core] = first + bad;
    return status;
}

int32_t t2i_quantize(struct t2i *t, const char *stage, const float *x, int32_t stride, int32_t first, int32_t rows)
{
    struct quantize_job job = {x, stride, t->q + first * WIDTH, t->sx + first, {-1, -1}};
    int32_t status = run_parts(t->run, quantize_part, &job, rows);
    if (status == EMU_OK)
        return status;
    int32_t row = first + first_bad(job.bad);
    t->run->branch = row / TOKENS;
    return stage_status(t->run, stage, status, row % TOKENS);
}

struct norm_job {
    const float *x;
    float *y;
    const float *sh;
    const float *sc;
    int32_t stride;
};

static int32_t norm_part(void *arg, int32_t first, int32_t end, int32_t core)
{
    const struct norm_job *job = arg;
    (void)core;
    int32_t status = layernorm(job->x + first * WIDTH, WIDTH, job->y + first * WIDTH, WIDTH, end - first, WIDTH);
    for (int32_t r = first; r < end; r++) {
        int32_t at = r / TOKENS * job->stride;
        modulate(job->y + r * WIDTH, WIDTH, job->sh + at, job->sc + at, 1, WIDTH);
    }
    return status;
}

int32_t t2i_norm(struct t2i *t, float *y, const float *sh, const float *sc, int32_t stride)
{
    struct norm_job job = {t->x, y, sh, sc, stride};
    return run_parts(t->run, norm_part, &job, ROWS);
}

struct gate_job {
    float *x;
    const float *y;
    const float *gates;
    int32_t stride;
};

static int32_t gate_part(void *arg, int32_t first, int32_t end, int32_t core)
{
    const struct gate_job *job = arg;
    (void)core;
    for (int32_t r = first; r < end; r++)
        residual_gated(job->x + r * WIDTH, WIDTH, job->y + r * WIDTH, WIDTH, job->gates + r / TOKENS * job->stride, 1,
                       WIDTH);
    return EMU_OK;
}

int32_t t2i_add_gated(struct t2i *t, const float *y, const float *gates, int32_t stride)
{
    struct gate_job job = {t->x, y, gates, stride};
    return run_parts(t->run, gate_part, &job, ROWS);
}

void t2i_tap_branches(struct t2i *t, const char *template, const float *data, int32_t rows, int32_t cols,
                      int32_t stride, int32_t first, int32_t width)
{
    for (int32_t branch = 0; branch < 2; branch++, data += rows * stride) {
        struct emu_piece piece = {data,           EMU_F32,          (uint32_t)first, (uint32_t)rows,
                                  (uint32_t)cols, (uint32_t)stride, (uint32_t)width, (uint32_t)(rows * width)};
        t->run->branch = branch;
        stage_tap_piece(t->run, template, &piece);
    }
}
