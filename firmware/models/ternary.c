/* The ternary transformer: whole, and layer by layer for a pipeline of nodes. models.md section 2. */
#include "arena.h"
#include "bits.h"
#include "emu_model_kernels.h"
#include "model_tensors.h"
#include "par.h"
#include "stages.h"

#define TOKENS TERNARY_TOKENS
#define WIDTH TERNARY_WIDTH
#define QKV_WIDTH (3 * WIDTH)
#define HIDDEN 256
#define HEADS 4
#define HEAD_WIDTH 32
#define SCRATCH EMU_ATTENTION_SCRATCH(TOKENS, HEAD_WIDTH)

struct ternary {
    struct emu_run *run;
    const struct emu_model *model;
    float *x;                /* [TOKENS][WIDTH] */
    float *y;                /* [TOKENS][WIDTH] */
    float *wide;             /* [TOKENS][QKV_WIDTH] */
    int8_t *q;               /* [TOKENS][HIDDEN] */
    int32_t *acc[EMU_CORES]; /* [TOKENS] */
    uint8_t *scratch[EMU_CORES];
    int32_t bad[EMU_CORES];
};

static int32_t take_ternary(struct ternary *t)
{
    struct emu_run *run = t->run;
    t->y = TAKE(run, float, TOKENS *WIDTH);
    t->wide = TAKE(run, float, TOKENS *QKV_WIDTH);
    t->q = TAKE(run, int8_t, TOKENS *HIDDEN);
    for (int32_t core = 0; core < EMU_CORES; core++) {
        t->acc[core] = TAKE(run, int32_t, TOKENS);
        t->scratch[core] = TAKE(run, uint8_t, SCRATCH);
    }
    return memory_status(run);
}

/* --- BitLinear, outputs shared out ------------------------------------------------------------------- */
struct bit_job {
    const struct ternary *t;
    const uint8_t *w;
    float scale;
    float a_scale;
    int32_t cols;
    float *y;
    int32_t y_stride;
};

static int32_t bit_part(void *arg, int32_t first, int32_t end, int32_t core)
{
    const struct bit_job *job = arg;
    int32_t w_stride = job->cols / 4;
    return linear_ternary(job->t->q, job->cols, TOKENS, job->w + first * w_stride, w_stride, end - first, job->cols,
                          job->scale, job->a_scale, job->y + first, job->y_stride, job->t->acc[core]);
}

static int32_t bit_layer(struct ternary *t, const char *stage, int32_t id, const float *x, int32_t cols, int32_t outs,
                         float *y)
{
    struct bit_job job = {.t = t,
                          .w = t->model->data[id],
                          .scale = model_floats(t->model, id + 1)[0],
                          .cols = cols,
                          .y = y,
                          .y_stride = outs};
    int32_t status = quantize_ternary_s8(x, t->q, TOKENS * cols, &job.a_scale);
    if (status != EMU_OK)
        return stage_status(t->run, stage, status, 0);
    return run_parts(t->run, bit_part, &job, outs);
}

/* --- a layer ------------------------------------------------------------------------------------------- */
static int32_t head_part(void *arg, int32_t first, int32_t end, int32_t core)
{
    struct ternary *t = arg;
    for (int32_t h = first; h < end; h++) {
        const float *q = t->wide + h * HEAD_WIDTH;
        int32_t status =
            attention_s8(q, q + WIDTH, q + 2 * WIDTH, QKV_WIDTH, TOKENS, HEAD_WIDTH, f32_from_bits(0x3E3504F3u),
                         t->y + h * HEAD_WIDTH, WIDTH, t->scratch[core], &t->bad[core]);
        if (status != EMU_OK)
            return status;
    }
    return EMU_OK;
}

static int32_t attention_half(struct ternary *t, int32_t layer)
{
    struct emu_run *run = t->run;
    rmsnorm(t->x, WIDTH, model_floats(t->model, layer + TERNARY_NORM1), t->y, WIDTH, TOKENS, WIDTH);
    EMU_TAP(run, "l*.norm1", t->y, EMU_F32, TOKENS, WIDTH, WIDTH);
    int32_t status = bit_layer(t, "l*.norm1", layer + TERNARY_QKV, t->y, WIDTH, QKV_WIDTH, t->wide);
    if (status != EMU_OK)
        return status;
    EMU_TAP(run, "l*.qkv", t->wide, EMU_F32, TOKENS, QKV_WIDTH, QKV_WIDTH);
    t->bad[0] = t->bad[1] = -1;
    status = run_parts(run, head_part, t, HEADS);
    if (status != EMU_OK)
        return stage_status(run, "l*.attn", status, t->bad[0] >= 0 ? t->bad[0] : t->bad[1]);
    EMU_TAP(run, "l*.attn", t->y, EMU_F32, TOKENS, WIDTH, WIDTH);
    status = bit_layer(t, "l*.attn", layer + TERNARY_PROJ, t->y, WIDTH, WIDTH, t->wide);
    if (status != EMU_OK)
        return status;
    residual_add(t->x, WIDTH, t->wide, WIDTH, TOKENS, WIDTH);
    EMU_TAP(run, "l*.proj", t->x, EMU_F32, TOKENS, WIDTH, WIDTH);
    return EMU_OK;
}

static int32_t mlp_half(struct ternary *t, int32_t layer)
{
    struct emu_run *run = t->run;
    rmsnorm(t->x, WIDTH, model_floats(t->model, layer + TERNARY_NORM2), t->y, WIDTH, TOKENS, WIDTH);
    EMU_TAP(run, "l*.norm2", t->y, EMU_F32, TOKENS, WIDTH, WIDTH);
    int32_t status = bit_layer(t, "l*.norm2", layer + TERNARY_FC1, t->y, WIDTH, HIDDEN, t->wide);
    if (status != EMU_OK)
        return status;
    relu_in_place(t->wide, TOKENS * HIDDEN);
    status = bit_layer(t, "l*.mlp", layer + TERNARY_FC2, t->wide, HIDDEN, WIDTH, t->y);
    if (status != EMU_OK)
        return status;
    residual_add(t->x, WIDTH, t->y, WIDTH, TOKENS, WIDTH);
    EMU_TAP(run, "l*.mlp", t->x, EMU_F32, TOKENS, WIDTH, WIDTH);
    return EMU_OK;
}

/* --- parts of a pipeline ---------------------------------------------------------------------------------- */
int32_t ternary_embed(const struct emu_model *model, const uint8_t *text, uint32_t bytes, float *x,
                      struct emu_run *run)
{
    int32_t ids[TOKENS];
    for (uint32_t i = 0; i < TOKENS; i++)
        ids[i] = i < bytes ? text[i] : 0;
    int32_t status =
        embed_rows(ids, TOKENS, model_floats(model, TERNARY_EMB), 256, model_floats(model, TERNARY_POS), WIDTH, x);
    EMU_TAP(run, "emb", x, EMU_F32, TOKENS, WIDTH, WIDTH);
    return status;
}

int32_t ternary_layers(const struct emu_model *model, int32_t first, int32_t end, float *x, struct emu_run *run)
{
    if (first < 0 || first > end || end > TERNARY_LAYERS)
        return EMU_BAD_ARGUMENT;
    struct ternary t = {.run = run, .model = model, .x = x};
    uint32_t mark = arena_mark(run);
    int32_t status = take_ternary(&t);
    for (int32_t i = first; i < end && status == EMU_OK; i++) {
        int32_t layer = TERNARY_LAYER + i * TERNARY_LAYER_SIZE;
        run->block = i;
        status = attention_half(&t, layer);
        if (status == EMU_OK)
            status = mlp_half(&t, layer);
    }
    arena_release(run, mark);
    return status;
}

int32_t ternary_head(const struct emu_model *model, const float *x, float *logits, struct emu_run *run)
{
    float pool[WIDTH];
    int32_t outputs = (int32_t)model->outputs;
    pool_rows(x, WIDTH, TOKENS, WIDTH, pool);
    EMU_TAP(run, "pool", pool, EMU_F32, 1, WIDTH, WIDTH);
    int32_t status = linear_f32(pool, model_floats(model, TERNARY_HEAD_W), model_floats(model, TERNARY_HEAD_B),
                                outputs, WIDTH, logits);
    EMU_TAP(run, "logits", logits, EMU_F32, 1, outputs, outputs);
    return status;
}

int32_t ternary_run(const void *model, uint32_t model_bytes, struct ternary_request *request, struct emu_run *run)
{
    if (request->logits == 0 || (request->text == 0 && request->text_bytes != 0))
        return EMU_BAD_ARGUMENT;
    arena_reset(run);
    struct emu_model *opened = TAKE(run, struct emu_model, 1);
    float *x = TAKE(run, float, TOKENS *WIDTH);
    struct emu_model_error error = {0};
    int32_t status = memory_status(run);
    if (status == EMU_OK)
        status = emu_model_open(model, model_bytes, EMU_TERNARY, run->flags, opened, &error);
    if (status == EMU_BAD_MODEL)
        keep_model_error(run, &error);
    if (status == EMU_OK && request->outputs < (int32_t)opened->outputs)
        status = EMU_BAD_ARGUMENT;
    if (status != EMU_OK)
        return status;
    request->outputs = (int32_t)opened->outputs;
    status = ternary_embed(opened, request->text, request->text_bytes, x, run);
    if (status == EMU_OK)
        status = ternary_layers(opened, 0, TERNARY_LAYERS, x, run);
    return status == EMU_OK ? ternary_head(opened, x, request->logits, run) : status;
}
