/* The language model: one token at a time. models.md section 3. */
#include "tinylm.h"
#include "bits.h"
#include "emu_model_kernels.h"
#include "random.h"

static int32_t take_step(struct tinylm_step *s)
{
    struct emu_run *run = s->run;
    s->h = TAKE(run, float, WIDTH);
    s->x = TAKE(run, float, WIDTH);
    s->qkv = TAKE(run, float, 3 * WIDTH);
    s->gate = TAKE(run, float, FFN);
    s->up = TAKE(run, float, FFN);
    s->ple = TAKE(run, float, LAYERS *PLE);
    s->table = TAKE(run, float, LAYERS *PLE);
    s->q = TAKE(run, int8_t, EMU_PAD16(FFN));
    for (int32_t core = 0; core < EMU_CORES; core++)
        s->acc[core] = TAKE(run, int32_t, MOST_GROUPS);
    s->scratch = TAKE(run, uint8_t, EMU_ATTENTION_KV8_SCRATCH(POSITIONS, HEAD_WIDTH));
    s->row = TAKE(run, int8_t, HEAD_WIDTH);
    slow_take(run, TINYLM_SLOW_BYTES); /* the cache lies at the beginning */
    return memory_status(run);
}

/* The row of a token in an int4 table. */
static void table_row(const struct tinylm_step *s, int32_t id, int32_t token, int32_t cols, float *y)
{
    int32_t groups = (cols + WIDE_GROUP - 1) / WIDE_GROUP;
    const uint8_t *w = s->model->data[id];
    const uint16_t *scale = s->model->data[id + 1];
    int4_row(w + token * EMU_PAD16((cols + 1) / 2), scale + token * groups, cols, WIDE_GROUP, y);
}

/* ple = (rmsnorm(proj(h) * (1/sqrt(D))) + table * sqrt(P)) * (1/sqrt(2)), the norm for each layer's part alone. */
static int32_t per_layer_embeddings(struct tinylm_step *s, int32_t token)
{
    int32_t n = LAYERS * PLE;
    int32_t status = tinylm_linear(s, "p#.emb", TINYLM_PROJ, s->h, WIDTH, n, GROUP, s->ple);
    if (status != EMU_OK)
        return status;
    scale_array(s->ple, n, f32_from_bits(0x3DB504F3u)); /* 1/sqrt(128) */
    rmsnorm(s->ple, PLE, model_floats(s->model, TINYLM_PLE_NORM), s->ple, PLE, LAYERS, PLE);
    table_row(s, TINYLM_PLE, token, n, s->table);
    ple_mix(s->ple, s->table, s->ple, n, 8.0f, f32_from_bits(0x3F3504F3u)); /* sqrt(64), 1/sqrt(2) */
    EMU_TAP(s->run, "p#.ple", s->ple, EMU_F32, LAYERS, PLE, PLE);
    return EMU_OK;
}

static int32_t head(struct tinylm_step *s, float *logits)
{
    tinylm_norm(s, TINYLM_NORM, s->h, WIDTH, s->x);
    int32_t status = tinylm_linear(s, "p#.logits", TINYLM_HEAD, s->x, WIDTH, TINYLM_VOCABULARY, WIDE_GROUP, logits);
    if (status == EMU_OK)
        EMU_TAP(s->run, "p#.logits", logits, EMU_F32, 1, TINYLM_VOCABULARY, TINYLM_VOCABULARY);
    return status;
}

static int32_t run_step(struct tinylm_step *s, int32_t token, float *logits)
{
    table_row(s, TINYLM_EMB, token, WIDTH, s->h);
    EMU_TAP(s->run, "p#.emb", s->h, EMU_F32, 1, WIDTH, WIDTH);
    int32_t status = per_layer_embeddings(s, token);
    for (int32_t layer = 0; layer < LAYERS && status == EMU_OK; layer++)
        status = tinylm_layer(s, layer);
    return status == EMU_OK ? head(s, logits) : status;
}

int32_t tinylm_start(const void *model, uint32_t model_bytes, uint32_t seed, struct tinylm *lm, struct emu_run *run)
{
    struct emu_model_error error = {0};
    arena_reset(run);
    lm->position = 0;
    lm->random = random_start(fmix32(seed));
    int32_t status = emu_model_open(model, model_bytes, EMU_TINYLM, run->flags, &lm->model, &error);
    if (status == EMU_BAD_MODEL)
        keep_model_error(run, &error);
    return status;
}

int32_t tinylm_step(struct tinylm *lm, int32_t token, float *logits, struct emu_run *run)
{
    if (token < 0 || token >= TINYLM_VOCABULARY || lm->position < 0 || lm->position >= POSITIONS)
        return EMU_BAD_ARGUMENT;
    struct tinylm_step s = {.run = run, .model = &lm->model, .position = lm->position};
    arena_reset(run);
    run->step = lm->position;
    int32_t status = take_step(&s);
    if (status == EMU_OK)
        status = run_step(&s, token, logits);
    if (status == EMU_OK)
        lm->position++;
    return status;
}

int32_t tinylm_choose(struct tinylm *lm, const float *logits, float temperature)
{
    return temperature > 0.0f ? sample_f32(logits, TINYLM_VOCABULARY, temperature, &lm->random)
                              : argmax_f32(logits, TINYLM_VOCABULARY);
}
