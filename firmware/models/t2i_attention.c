/* Self-attention of a block with its residual. models.md section 1.
 *
 * Queries, keys and values never exist in float32 as a whole: 32 columns at a time are computed for all rows, shown
 * to the taps, and quantized.
 */
#include "bits.h"
#include "emu_model_kernels.h"
#include "t2i.h"

#define QKV_WIDTH (3 * WIDTH)
#define SCRATCH EMU_ATTENTION_Q8_SCRATCH(TOKENS, HEAD_WIDTH)

struct attention {
    struct t2i *t;
    int8_t *q; /* [HEADS][ROWS][HEAD_WIDTH] */
    int8_t *k;
    int8_t *vt; /* [2][WIDTH][TOKENS] */
    float *sq;  /* [HEADS][ROWS] */
    float *sk;
    float *sv;    /* [2][WIDTH] */
    float *strip; /* [ROWS][HEAD_WIDTH] */
    float *column[EMU_CORES];
    float *out; /* [TOKENS][WIDTH] of one branch */
    uint8_t *scratch[EMU_CORES];
    int32_t head;
    int32_t branch;
    int32_t bad[EMU_CORES];
    int8_t *to; /* where rows of the strip go: q or k of the head */
    float *scale;
};

static int32_t quantize_rows_part(void *arg, int32_t first, int32_t end, int32_t core)
{
    struct attention *a = arg;
    int32_t bad = 0;
    int32_t status = quantize_row_s8(a->strip + first * HEAD_WIDTH, HEAD_WIDTH, a->to + first * HEAD_WIDTH,
                                     HEAD_WIDTH, a->scale + first, end - first, HEAD_WIDTH, &bad);
    if (status != EMU_OK)
        a->bad[core] = first + bad;
    return status;
}

/* Units: the columns of branch c, then those of branch u. */
static int32_t quantize_columns_part(void *arg, int32_t first, int32_t end, int32_t core)
{
    struct attention *a = arg;
    for (int32_t unit = first; unit < end; unit++) {
        int32_t branch = unit / HEAD_WIDTH, c = unit % HEAD_WIDTH,
                channel = branch * WIDTH + a->head * HEAD_WIDTH + c;
        int32_t ignored;
        int32_t status =
            quantize_columns_s8(a->strip + branch * TOKENS * HEAD_WIDTH + c, HEAD_WIDTH, TOKENS, 1,
                                a->vt + channel * TOKENS, TOKENS, a->sv + channel, a->column[core], &ignored);
        if (status != EMU_OK) {
            a->bad[core] = branch * TOKENS + c;
            return status;
        }
    }
    return EMU_OK;
}

/* A status 4: which branch, and the row (or the column of v) in it. */
static int32_t attention_status(struct attention *a, const char *stage, int32_t status)
{
    int32_t bad = a->bad[0] >= 0 ? a->bad[0] : a->bad[1];
    if (status == EMU_NOT_FINITE)
        a->t->run->branch = bad / TOKENS;
    return stage_status(a->t->run, stage, status, bad % TOKENS);
}

/* Columns `first` .. first + HEAD_WIDTH - 1 of qkv to the strip. */
static int32_t compute_strip(struct attention *a, int32_t first)
{
    struct t2i *t = a->t;
    int32_t id = T2I_BLOCK + t->run->block * T2I_BLOCK_SIZE + BLOCK_QKV;
    struct t2i_linear linear = {t->q,       WIDTH, t->sx,    ROWS,      layer_at(t, id, first, WIDTH),
                                HEAD_WIDTH, WIDTH, a->strip, HEAD_WIDTH};
    int32_t status = t2i_linear(t, &linear);
    if (EMU_TAPPED(t->run))
        t2i_tap_branches(t, "s#.@.b*.qkv", a->strip, TOKENS, HEAD_WIDTH, HEAD_WIDTH, first, QKV_WIDTH);
    return status;
}

static int32_t rows_of_heads(struct attention *a, int32_t first, int8_t *to, float *scale)
{
    int32_t status = EMU_OK;
    for (int32_t h = 0; h < HEADS && status == EMU_OK; h++) {
        a->to = to + h * ROWS * HEAD_WIDTH;
        a->scale = scale + h * ROWS;
        status = compute_strip(a, first + h * HEAD_WIDTH);
        if (status == EMU_OK)
            status = run_parts(a->t->run, quantize_rows_part, a, ROWS);
    }
    return status;
}

static int32_t values_of_heads(struct attention *a)
{
    int32_t status = EMU_OK;
    for (int32_t h = 0; h < HEADS && status == EMU_OK; h++) {
        a->head = h;
        status = compute_strip(a, 2 * WIDTH + h * HEAD_WIDTH);
        if (status == EMU_OK)
            status = run_parts(a->t->run, quantize_columns_part, a, 2 * HEAD_WIDTH);
    }
    return status;
}

static int32_t attend_part(void *arg, int32_t first, int32_t end, int32_t core)
{
    struct attention *a = arg;
    int32_t bad = 0;
    for (int32_t h = 0; h < HEADS; h++) {
        int32_t row = h * ROWS + a->branch * TOKENS, channel = a->branch * WIDTH + h * HEAD_WIDTH;
        int32_t status = attention_q8(a->q + (row + first) * HEAD_WIDTH, HEAD_WIDTH, a->sq + row + first, end - first,
                                      a->k + row * HEAD_WIDTH, HEAD_WIDTH, a->sk + row, TOKENS, HEAD_WIDTH,
                                      INV_SQRT_HEAD, a->vt + channel * TOKENS, TOKENS, a->sv + channel,
                                      a->out + first * WIDTH + h * HEAD_WIDTH, WIDTH, a->scratch[core], &bad);
        if (status != EMU_OK) {
            a->bad[core] = a->branch * TOKENS + first + bad;
            return status;
        }
    }
    return EMU_OK;
}

/* The attention of one branch at a time, quantized as the input of proj. */
static int32_t attend(struct attention *a)
{
    struct t2i *t = a->t;
    int32_t status = EMU_OK;
    for (int32_t branch = 0; branch < 2 && status == EMU_OK; branch++) {
        a->branch = branch;
        status = run_parts(t->run, attend_part, a, TOKENS);
        if (status != EMU_OK)
            return attention_status(a, "s#.@.b*.attn", status);
        t->run->branch = branch;
        EMU_TAP(t->run, "s#.@.b*.attn", a->out, EMU_F32, TOKENS, WIDTH, WIDTH);
        status = t2i_quantize(t, "s#.@.b*.attn", a->out, WIDTH, branch * TOKENS, TOKENS);
    }
    return status;
}

static int32_t take_attention(struct attention *a)
{
    struct emu_run *run = a->t->run;
    a->q = TAKE(run, int8_t, ROWS *WIDTH);
    a->k = TAKE(run, int8_t, ROWS *WIDTH);
    a->vt = TAKE(run, int8_t, ROWS *WIDTH);
    a->sq = TAKE(run, float, HEADS *ROWS);
    a->sk = TAKE(run, float, HEADS *ROWS);
    a->sv = TAKE(run, float, 2 * WIDTH);
    return memory_status(run);
}

/* The strip is done with before the output begins. */
static int32_t heads(struct attention *a)
{
    struct emu_run *run = a->t->run;
    uint32_t mark = arena_mark(run);
    a->strip = TAKE(run, float, ROWS *HEAD_WIDTH);
    for (int32_t core = 0; core < EMU_CORES; core++)
        a->column[core] = TAKE(run, float, TOKENS);
    int32_t status = memory_status(run);
    if (status == EMU_OK)
        status = rows_of_heads(a, 0, a->q, a->sq);
    if (status == EMU_OK)
        status = rows_of_heads(a, WIDTH, a->k, a->sk);
    if (status == EMU_OK)
        status = values_of_heads(a);
    arena_release(run, mark);
    return attention_status(a, "s#.@.b*.qkv", status);
}

static int32_t project(struct t2i *t, const float *gates, int32_t stride)
{
    uint32_t mark = arena_mark(t->run);
    float *y = TAKE(t->run, float, ROWS *WIDTH);
    int32_t status = memory_status(t->run), id = T2I_BLOCK + t->run->block * T2I_BLOCK_SIZE + BLOCK_PROJ;
    struct t2i_linear linear = {t->q, WIDTH, t->sx, ROWS, layer_at(t, id, 0, 0), WIDTH, WIDTH, y, WIDTH};
    if (status == EMU_OK)
        status = t2i_linear(t, &linear);
    if (status == EMU_OK)
        status = t2i_add_gated(t, y, gates, stride);
    arena_release(t->run, mark);
    return status;
}

int32_t t2i_attention(struct t2i *t, const float *gates, int32_t stride)
{
    struct attention a = {.t = t, .bad = {-1, -1}};
    uint32_t mark = arena_mark(t->run);
    int32_t status = take_attention(&a);
    if (status == EMU_OK)
        status = heads(&a);
    a.out = TAKE(t->run, float, TOKENS *WIDTH);
    for (int32_t core = 0; core < EMU_CORES; core++)
        a.scratch[core] = TAKE(t->run, uint8_t, SCRATCH);
    if (status == EMU_OK)
        status = memory_status(t->run);
    if (status == EMU_OK)
        status = attend(&a);
    arena_release(t->run, mark);
    if (status == EMU_OK)
        status = project(t, gates, stride);
    if (status == EMU_OK)
        TAP_BRANCHES(t, "s#.@.b*.proj", t->x, TOKENS, WIDTH, WIDTH);
    return status;
}
