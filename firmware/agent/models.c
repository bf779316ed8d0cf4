/* The models as RUN offers them: checked arguments become requests of emu_models.h. docs/wire.md section 9. */
#include "run.h"

const struct agent_model agent_models[AGENT_MODELS] = {
    {"t2i_run", "i <B<B<iIifI>B"},  {"ternary_run", "i <B<B>f"}, {"tinylm_start", "i <BI"},
    {"tinylm_step", "i i>f"},       {"tinylm_choose", "i <ff"},  {"tinylm_tokenize", "i <B>i"},
};

static struct tinylm lm;
static uint8_t *lm_slow; /* the cache of the sequence */
static uint32_t lm_slow_bytes;
static uint32_t lm_session;

static float float_of(uint32_t bits)
{
    union { uint32_t u; float f; } pun = {.u = bits};
    return pun.f;
}

static uint32_t run_t2i(struct run_job *job, int32_t *result)
{
    struct run_argument *a = job->arguments;
    if (a[7].length < T2I_RGB_BYTES || a[6].word != 0 || a[0].data == 0)
        return WIRE_VALUE;
    struct t2i_request request = {
        .prompt = a[1].data, .prompt_bytes = a[1].length,
        .tokens = (const int32_t *)(const void *)a[2].data, .token_count = (int32_t)(a[2].length / 4),
        .seed = a[3].word, .steps = (int32_t)a[4].word, .cfg = float_of(a[5].word), .rgb = a[7].data};
    *result = t2i_run(a[0].data, a[0].length, &request, &job->run);
    return WIRE_OK;
}

static uint32_t run_ternary(struct run_job *job, int32_t *result)
{
    struct run_argument *a = job->arguments;
    if (a[0].data == 0 || a[2].data == 0)
        return WIRE_VALUE;
    struct ternary_request request = {
        .text = a[1].data, .text_bytes = a[1].length,
        .logits = (float *)(void *)a[2].data, .outputs = (int32_t)(a[2].length / 4)};
    *result = ternary_run(a[0].data, a[0].length, &request, &job->run);
    return WIRE_OK;
}

static uint32_t start_tinylm(struct run_job *job, int32_t *result)
{
    struct run_argument *a = job->arguments;
    if (a[0].data == 0 || job->run.slow == 0)
        return WIRE_VALUE;
    agent_state.sequence.size = 0;
    *result = tinylm_start(a[0].data, a[0].length, a[1].word, &lm, &job->run);
    if (*result == EMU_OK) {
        lm_slow = job->run.slow;
        lm_slow_bytes = job->run.slow_bytes;
        lm_session = agent_state.session;
        agent_state.sequence = (struct agent_span){a[0].data, a[0].length};
    }
    return WIRE_OK;
}

/* The sequence belongs to the session that started it, and ends when its file may have changed. */
static int has_sequence(void)
{
    return agent_state.sequence.size != 0 && lm_session == agent_state.session;
}

/* The run writes into the cache of the sequence. */
static int spoils_sequence(const struct run_job *job)
{
    int spoils = agent_overlap(job->run.arena, job->run.arena_bytes, lm_slow, lm_slow_bytes);
    for (uint32_t i = 2; i < job->piece_count; i++)
        spoils |= job->pieces[i].written && agent_overlap(job->pieces[i].start, job->pieces[i].size, lm_slow, lm_slow_bytes);
    return spoils;
}

static uint32_t step_tinylm(struct run_job *job, int32_t *result)
{
    struct run_argument *a = job->arguments;
    if (!has_sequence() || spoils_sequence(job) || a[1].length != 4 * TINYLM_VOCABULARY)
        return WIRE_VALUE;
    job->run.slow = lm_slow;
    job->run.slow_bytes = lm_slow_bytes;
    *result = tinylm_step(&lm, (int32_t)a[0].word, (float *)(void *)a[1].data, &job->run);
    return WIRE_OK;
}

static uint32_t choose_tinylm(struct run_job *job, int32_t *result)
{
    struct run_argument *a = job->arguments;
    if (!has_sequence() || a[0].length != 4 * TINYLM_VOCABULARY)
        return WIRE_VALUE;
    *result = tinylm_choose(&lm, (const float *)(const void *)a[0].data, float_of(a[1].word));
    return WIRE_OK;
}

static uint32_t tokenize_tinylm(struct run_job *job, int32_t *result)
{
    struct run_argument *a = job->arguments;
    if (!has_sequence())
        return WIRE_VALUE;
    int32_t *tokens = (int32_t *)(void *)a[1].data;
    *result = tinylm_tokenize(&lm.model, a[0].data, a[0].length, tokens, (int32_t)(a[1].length / 4));
    return WIRE_OK;
}

uint32_t run_model(uint32_t index, struct run_job *job, int32_t *result)
{
    static uint32_t (*const runs[AGENT_MODELS])(struct run_job *, int32_t *) = {
        run_t2i, run_ternary, start_tinylm, step_tinylm, choose_tinylm, tokenize_tinylm};
    return runs[index](job, result);
}

int run_has_file(uint32_t index)
{
    return index < 3;
}
