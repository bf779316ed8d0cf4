/* Text to image: one run. models.md section 1. */
#include "t2i.h"
#include "emu_model_kernels.h"
#include "random.h"

static int32_t check_request(const struct t2i_request *request)
{
    if (request->steps < 1 || request->steps > T2I_MAX_STEPS || request->rgb == 0 ||
        f32_magnitude(request->cfg) >= F32_INFINITY_BITS)
        return EMU_BAD_ARGUMENT;
    if (request->tokens == 0)
        return request->prompt == 0 && request->prompt_bytes != 0 ? EMU_BAD_ARGUMENT : EMU_OK;
    if (request->token_count < 0 || request->token_count > T2I_MAX_TOKENS)
        return EMU_BAD_ARGUMENT;
    for (int32_t i = 0; i < request->token_count; i++)
        if (request->tokens[i] < 0 || request->tokens[i] >= T2I_VOCABULARY)
            return EMU_BAD_ARGUMENT;
    return EMU_OK;
}

static struct t2i *take_state(struct emu_run *run)
{
    struct t2i *t = TAKE(run, struct t2i, 1);
    float *x = TAKE(run, float, ROWS *WIDTH);
    float *small = TAKE(run, float, 2 * MOD_WIDTH + 2 * FINAL_MOD_STRIDE + 5 * WIDTH + LATENT);
    int8_t *q = TAKE(run, int8_t, ROWS *WIDTH);
    float *sx = TAKE(run, float, ROWS);
    uint8_t *sums = TAKE(run, uint8_t, EMU_CORES *MOST_SUMS);
    if (memory_status(run) != EMU_OK)
        return 0;
    t->run = run;
    t->x = x;
    t->mod = small;
    t->final_mod = t->mod + 2 * MOD_WIDTH;
    t->cond = t->final_mod + 2 * FINAL_MOD_STRIDE;
    t->ctext = t->cond + 2 * WIDTH;
    t->temb = t->ctext + 2 * WIDTH;
    t->z = t->temb + WIDTH;
    t->q = q;
    t->sx = sx;
    for (int32_t core = 0; core < EMU_CORES; core++)
        t->sums[core] = sums + core * MOST_SUMS;
    return t;
}

/* The tokens of the request, from its prompt when it has none. */
static const int32_t *tokens_of(const struct t2i *t, struct t2i_request *request, int32_t *buffer)
{
    if (request->tokens != 0)
        return request->tokens;
    request->token_count = t2i_tokenize(t->model.data[T2I_WORDS], request->prompt, request->prompt_bytes, buffer);
    return buffer;
}

static int32_t sample_step(struct t2i *t)
{
    const struct t2i_request *request = t->request;
    int32_t status = t2i_condition(t);
    if (status == EMU_OK)
        status = t2i_denoise(t);
    if (status != EMU_OK)
        return status;
    uint32_t mark = arena_mark(t->run);
    float *v = TAKE(t->run, float, 2 * LATENT);
    status = memory_status(t->run);
    if (status == EMU_OK)
        status = t2i_velocity(t, v);
    if (status == EMU_OK) {
        flow_step(t->z, v, v + LATENT, LATENT, request->cfg, t->run->step, request->steps);
        EMU_TAP(t->run, "s#.z", t->z, EMU_F32, 1, LATENT, LATENT);
    }
    arena_release(t->run, mark);
    return status;
}

static int32_t draw(struct t2i *t, struct t2i_request *request)
{
    int32_t buffer[T2I_MAX_TOKENS];
    uint32_t state = fmix32(request->seed);
    const int32_t *tokens = tokens_of(t, request, buffer);
    int32_t status = t2i_text(t, tokens, request->token_count);
    if (status != EMU_OK)
        return status;
    normal_array(&state, t->z, LATENT);
    EMU_TAP(t->run, "z.init", t->z, EMU_F32, 1, LATENT, LATENT);
    for (t->run->step = 0; t->run->step < request->steps && status == EMU_OK; t->run->step++)
        status = sample_step(t);
    return status == EMU_OK ? t2i_decode(t, request->rgb) : status;
}

int32_t t2i_run(const void *model, uint32_t model_bytes, struct t2i_request *request, struct emu_run *run)
{
    int32_t status = check_request(request);
    if (status != EMU_OK)
        return status;
    arena_reset(run);
    struct t2i *t = take_state(run);
    if (t == 0)
        return memory_status(run);
    struct emu_model_error error = {0};
    status = emu_model_open(model, model_bytes, EMU_T2I, run->flags, &t->model, &error);
    if (status == EMU_BAD_MODEL)
        keep_model_error(run, &error);
    if (status != EMU_OK)
        return status;
    t->request = request;
    return draw(t, request);
}
