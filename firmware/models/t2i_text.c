/* The text encoder: prompt to ctext. models.md section 1. Small enough for one core. */
#include "bits.h"
#include "emu_model_kernels.h"
#include "t2i.h"

/* Buffers of the encoder for up to T2I_MAX_TOKENS rows. */
struct text {
    float *x;   /* [rows][TEXT_WIDTH] */
    float *y;   /* [rows][TEXT_WIDTH] */
    float *qkv; /* [rows][3 * TEXT_WIDTH] */
    uint8_t *scratch;
    int32_t rows;
    int32_t bad;
};

static int32_t text_linear(const struct t2i *t, struct text *s, int32_t id, const float *x, int32_t rows,
                           int32_t cols, int32_t outs, float *y)
{
    struct model_layer l = model_layer(&t->model, id);
    return linear_w8a8(x, cols, rows, l.w, EMU_PAD16(cols), l.sw, l.b, outs, cols, y, outs, s->scratch, &s->bad);
}

static void text_norm(const struct t2i *t, int32_t id, const float *x, float *y, int32_t rows)
{
    layernorm(x, TEXT_WIDTH, y, TEXT_WIDTH, rows, TEXT_WIDTH);
    affine(y, TEXT_WIDTH, model_floats(&t->model, id), model_floats(&t->model, id + 1), rows, TEXT_WIDTH);
}

static int32_t text_attention(const struct t2i *t, struct text *s, int32_t block)
{
    text_norm(t, block + TXT_LN1_W, s->x, s->y, s->rows);
    int32_t status = text_linear(t, s, block + TXT_QKV, s->y, s->rows, TEXT_WIDTH, 3 * TEXT_WIDTH, s->qkv);
    for (int32_t h = 0; h < TEXT_HEADS && status == EMU_OK; h++) {
        const float *q = s->qkv + h * HEAD_WIDTH;
        status = attention_s8(q, q + TEXT_WIDTH, q + 2 * TEXT_WIDTH, 3 * TEXT_WIDTH, s->rows, HEAD_WIDTH,
                              INV_SQRT_HEAD, s->y + h * HEAD_WIDTH, TEXT_WIDTH, s->scratch, &s->bad);
    }
    if (status == EMU_OK)
        status = text_linear(t, s, block + TXT_PROJ, s->y, s->rows, TEXT_WIDTH, TEXT_WIDTH, s->qkv);
    if (status == EMU_OK)
        residual_add(s->x, TEXT_WIDTH, s->qkv, TEXT_WIDTH, s->rows, TEXT_WIDTH);
    return status;
}

static int32_t text_mlp(const struct t2i *t, struct text *s, int32_t block)
{
    struct model_layer up = model_layer(&t->model, block + TXT_FC1), down = model_layer(&t->model, block + TXT_FC2);
    text_norm(t, block + TXT_LN2_W, s->x, s->y, s->rows);
    int32_t status =
        mlp_grouped(s->y, TEXT_WIDTH, s->rows, up.w, TEXT_WIDTH, up.sw, up.b, down.w, TEXT_HIDDEN, down.sw, down.b,
                    TEXT_WIDTH, TEXT_HIDDEN, TEXT_WIDTH, GROUP, model_floats(&t->model, T2I_GELU_VALUE),
                    model_floats(&t->model, T2I_GELU_SLOPE), s->qkv, TEXT_WIDTH, s->scratch, &s->bad);
    if (status == EMU_OK)
        residual_add(s->x, TEXT_WIDTH, s->qkv, TEXT_WIDTH, s->rows, TEXT_WIDTH);
    return status;
}

/* Without tokens only the (empty) stages are shown. */
static int32_t text_block(struct t2i *t, struct text *s, int32_t i)
{
    int32_t block = T2I_TXT_BLOCK + i * T2I_TXT_BLOCK_SIZE, status = EMU_OK;
    t->run->block = i;
    if (s->rows > 0)
        status = text_attention(t, s, block);
    if (status != EMU_OK)
        return stage_status(t->run, "txt.b*.attn", status, s->bad);
    EMU_TAP(t->run, "txt.b*.attn", s->x, EMU_F32, s->rows, TEXT_WIDTH, TEXT_WIDTH);
    if (s->rows > 0)
        status = text_mlp(t, s, block);
    if (status != EMU_OK)
        return stage_status(t->run, "txt.b*.mlp", status, s->bad);
    EMU_TAP(t->run, "txt.b*.mlp", s->x, EMU_F32, s->rows, TEXT_WIDTH, TEXT_WIDTH);
    return EMU_OK;
}

/* Row 0 the prompt, row 1 the null prompt; in s->x. */
static void pool_prompt(const struct t2i *t, struct text *s)
{
    const float *null = model_floats(&t->model, T2I_TXT_NULL);
    if (s->rows > 0)
        pool_rows(s->x, TEXT_WIDTH, s->rows, TEXT_WIDTH, s->y);
    for (int32_t c = 0; c < TEXT_WIDTH; c++) {
        s->x[c] = s->rows > 0 ? s->y[c] : null[c];
        s->x[TEXT_WIDTH + c] = null[c];
    }
}

static int32_t text_head(struct t2i *t, struct text *s)
{
    pool_prompt(t, s);
    text_norm(t, T2I_TXT_LN_W, s->x, s->y, 2);
    int32_t status = text_linear(t, s, T2I_TXT_FC1, s->y, 2, TEXT_WIDTH, WIDTH, s->qkv);
    silu_in_place(s->qkv, 2 * WIDTH);
    if (status == EMU_OK)
        status = text_linear(t, s, T2I_TXT_FC2, s->qkv, 2, WIDTH, WIDTH, t->ctext);
    if (status != EMU_OK)
        return stage_status(t->run, "ctext", status, s->bad);
    EMU_TAP(t->run, "ctext", t->ctext, EMU_F32, 2, WIDTH, WIDTH);
    return EMU_OK;
}

static int32_t take_text(struct t2i *t, struct text *s)
{
    s->x = TAKE(t->run, float, T2I_MAX_TOKENS *TEXT_WIDTH);
    s->y = TAKE(t->run, float, T2I_MAX_TOKENS *TEXT_WIDTH);
    s->qkv = TAKE(t->run, float, T2I_MAX_TOKENS * 3 * TEXT_WIDTH);
    s->scratch = TAKE(t->run, uint8_t, EMU_MLP_SCRATCH(T2I_MAX_TOKENS, TEXT_WIDTH, GROUP)); /* the largest of all */
    return memory_status(t->run);
}

int32_t t2i_text(struct t2i *t, const int32_t *tokens, int32_t count)
{
    struct text s = {.rows = count};
    uint32_t mark = arena_mark(t->run);
    int32_t status = take_text(t, &s);
    if (status != EMU_OK)
        return status;
    EMU_TAP(t->run, "tok", tokens, EMU_S32, 1, count, count);
    embed_rows(tokens, count, model_floats(&t->model, T2I_TXT_EMB), T2I_VOCABULARY,
               model_floats(&t->model, T2I_TXT_POS), TEXT_WIDTH, s.x);
    EMU_TAP(t->run, "txt.emb", s.x, EMU_F32, count, TEXT_WIDTH, TEXT_WIDTH);
    for (int32_t i = 0; i < TEXT_BLOCKS && status == EMU_OK; i++)
        status = text_block(t, &s, i);
    if (status == EMU_OK)
        status = text_head(t, &s);
    arena_release(t->run, mark);
    return status;
}
