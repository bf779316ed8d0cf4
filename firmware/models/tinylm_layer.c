/* One layer of the language model for one token. models.md section 3. */
#include "bits.h"
#include "emu_model_kernels.h"
#include "linear_w8a8.h"
#include "tinylm.h"

/* --- linear layers ------------------------------------------------------------------------------------ */
struct int4_job {
    const struct tinylm_step *s;
    const uint8_t *w;
    const uint16_t *scale;
    float sx;
    int32_t cols;
    int32_t group;
    float *y;
};

static int32_t int4_part(void *arg, int32_t first, int32_t end, int32_t core)
{
    const struct int4_job *job = arg;
    int32_t w_stride = EMU_PAD16((job->cols + 1) / 2), groups = (job->cols + job->group - 1) / job->group;
    return linear_int4_q8(job->s->q, job->sx, job->cols, job->w + first * w_stride, w_stride,
                          job->scale + first * groups, job->group, end - first, job->y + first, job->s->acc[core]);
}

int32_t tinylm_quantize(struct tinylm_step *s, const char *stage, const float *x, int32_t cols, float *sx)
{
    int32_t bad;
    int32_t status = quantize_padded(x, cols, s->q, EMU_PAD16(cols), sx, 1, cols, &bad);
    return stage_status(s->run, stage, status, 0);
}

int32_t tinylm_linear_again(struct tinylm_step *s, int32_t id, float sx, int32_t cols, int32_t outs, int32_t group,
                            float *y)
{
    struct int4_job job = {s, s->model->data[id], s->model->data[id + 1], sx, cols, group, y};
    return run_parts(s->run, int4_part, &job, outs);
}

int32_t tinylm_linear(struct tinylm_step *s, const char *stage, int32_t id, const float *x, int32_t cols,
                      int32_t outs, int32_t group, float *y)
{
    float sx;
    int32_t status = tinylm_quantize(s, stage, x, cols, &sx);
    return status == EMU_OK ? tinylm_linear_again(s, id, sx, cols, outs, group, y) : status;
}

void tinylm_norm(const struct tinylm_step *s, int32_t id, const float *x, int32_t n, float *y)
{
    rmsnorm(x, n, model_floats(s->model, id), y, n, 1, n);
}

/* --- attention -------------------------------------------------------------------------------------------- */
static struct tinylm_cache cache_of(const struct tinylm_step *s, int32_t layer)
{
    struct tinylm_cache cache;
    cache.k = (int8_t *)s->run->slow + layer * 2 * POSITIONS * WIDTH;
    cache.vt = cache.k + POSITIONS * WIDTH;
    float *scales = (float *)(void *)(s->run->slow + LAYERS * 2 * POSITIONS * WIDTH);
    cache.sk = scales + layer * 2 * HEADS * POSITIONS;
    cache.sv = cache.sk + HEADS * POSITIONS;
    return cache;
}

static int32_t attend(struct tinylm_step *s, int32_t layer)
{
    struct tinylm_cache c = cache_of(s, layer);
    int32_t bad = 0;
    int32_t status = kv8_write(s->qkv + WIDTH, s->qkv + 2 * WIDTH, HEADS, HEAD_WIDTH, s->position, POSITIONS, c.k,
                               c.sk, c.vt, c.sv, s->row, &bad);
    if (status != EMU_OK)
        return stage_status(s->run, "p#.l*.qkv", status, bad);
    status = attention_kv8(s->qkv, HEADS, HEAD_WIDTH, s->position + 1, POSITIONS, c.k, c.sk, c.vt, c.sv,
                           f32_from_bits(0x3E3504F3u), s->x, s->scratch, &bad);
    return stage_status(s->run, "p#.l*.attn", status, bad);
}

static int32_t attention_third(struct tinylm_step *s, int32_t layer, int32_t tensors)
{
    struct emu_run *run = s->run;
    const float *frequencies = model_floats(s->model, TINYLM_ROPE);
    tinylm_norm(s, tensors + LAYER_NORM1, s->h, WIDTH, s->x);
    EMU_TAP(run, "p#.l*.norm", s->x, EMU_F32, 1, WIDTH, WIDTH);
    int32_t status = tinylm_linear(s, "p#.l*.norm", tensors + LAYER_QKV, s->x, WIDTH, 3 * WIDTH, GROUP, s->qkv);
    if (status != EMU_OK)
        return status;
    rope(s->qkv, 2 * HEADS, HEAD_WIDTH, s->position, frequencies); /* q and k */
    EMU_TAP(run, "p#.l*.qkv", s->qkv, EMU_F32, 1, 3 * WIDTH, 3 * WIDTH);
    status = attend(s, layer);
    if (status != EMU_OK)
        return status;
    EMU_TAP(run, "p#.l*.attn", s->x, EMU_F32, 1, WIDTH, WIDTH);
    status = tinylm_linear(s, "p#.l*.attn", tensors + LAYER_O, s->x, WIDTH, WIDTH, GROUP, s->qkv);
    if (status == EMU_OK)
        add_array(s->h, s->qkv, s->h, WIDTH);
    return status;
}

/* --- feed-forward and per-layer embedding ----------------------------------------------------------------- */
static int32_t ffn_third(struct tinylm_step *s, int32_t tensors)
{
    float sx;
    tinylm_norm(s, tensors + LAYER_NORM2, s->h, WIDTH, s->x);
    int32_t status = tinylm_quantize(s, "p#.l*.ffn", s->x, WIDTH, &sx);
    if (status == EMU_OK)
        status = tinylm_linear_again(s, tensors + LAYER_GATE, sx, WIDTH, FFN, GROUP, s->gate);
    if (status == EMU_OK)
        status = tinylm_linear_again(s, tensors + LAYER_UP, sx, WIDTH, FFN, GROUP, s->up);
    if (status != EMU_OK)
        return status;
    silu_in_place(s->gate, FFN);
    multiply_array(s->gate, s->up, s->gate, FFN);
    status = tinylm_linear(s, "p#.l*.ffn", tensors + LAYER_DOWN, s->gate, FFN, WIDTH, GROUP, s->x);
    if (status != EMU_OK)
        return status;
    add_array(s->h, s->x, s->h, WIDTH);
    EMU_TAP(s->run, "p#.l*.ffn", s->h, EMU_F32, 1, WIDTH, WIDTH);
    return EMU_OK;
}

static int32_t ple_third(struct tinylm_step *s, int32_t layer, int32_t tensors)
{
    int32_t status = tinylm_linear(s, "p#.l*.ffn", tensors + LAYER_PLE_GATE, s->h, WIDTH, PLE, GROUP, s->gate);
    if (status != EMU_OK)
        return status;
    gelu_in_place(s->gate, PLE, model_floats(s->model, TINYLM_GELU_VALUE), model_floats(s->model, TINYLM_GELU_SLOPE));
    multiply_array(s->gate, s->ple + layer * PLE, s->gate, PLE);
    status = tinylm_linear(s, "p#.l*.ple", tensors + LAYER_PLE_PROJ, s->gate, PLE, WIDTH, GROUP, s->x);
    if (status != EMU_OK)
        return status;
    tinylm_norm(s, tensors + LAYER_NORM3, s->x, WIDTH, s->x);
    add_array(s->h, s->x, s->h, WIDTH);
    EMU_TAP(s->run, "p#.l*.ple", s->h, EMU_F32, 1, WIDTH, WIDTH);
    return EMU_OK;
}

int32_t tinylm_layer(struct tinylm_step *s, int32_t layer)
{
    int32_t tensors = TINYLM_LAYER + layer * TINYLM_LAYER_SIZE;
    s->run->block = layer;
    int32_t status = attention_third(s, layer, tensors);
    if (status == EMU_OK)
        status = ffn_third(s, tensors);
    return status == EMU_OK ? ple_third(s, layer, tensors) : status;
}
