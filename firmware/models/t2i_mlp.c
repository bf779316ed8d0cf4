/* The MLP of a block with its residual: mlp_grouped, shared out to the cores. models.md section 1, numerics.md
 * section 10.
 *
 * Each group of the hidden layer passes through a strip of 32 rows of float32; its weights are read once for the
 * output, and once per strip for the hidden rows.
 */
#include "emu_model_kernels.h"
#include "mlp_grouped.h"
#include "t2i.h"

#define STRIP_ROWS 32

struct mlp {
    struct t2i *t;
    struct model_layer up; /* at the first row of the group */
    struct model_layer down;
    float *y;                /* [ROWS][WIDTH] */
    int8_t *hidden;          /* [ROWS][GROUP] */
    float *sh;               /* [ROWS] */
    float *strip[EMU_CORES]; /* [STRIP_ROWS][GROUP] */
    int32_t bad[EMU_CORES];
};

static int32_t bias_part(void *arg, int32_t first, int32_t end, int32_t core)
{
    const struct mlp *m = arg;
    (void)core;
    mlp_start(m->down.b, WIDTH, end - first, m->y + first * WIDTH, WIDTH);
    return EMU_OK;
}

/* Units: strips. */
static int32_t hidden_part(void *arg, int32_t first, int32_t end, int32_t core)
{
    struct mlp *m = arg;
    const struct t2i *t = m->t;
    for (int32_t row = first * STRIP_ROWS; row < end * STRIP_ROWS; row += STRIP_ROWS) {
        int32_t bad = 0;
        int32_t status =
            mlp_hidden(t->q + row * WIDTH, WIDTH, t->sx + row, STRIP_ROWS, m->up.w, WIDTH, m->up.sw, m->up.b, WIDTH,
                       GROUP, model_floats(&t->model, T2I_GELU_VALUE), model_floats(&t->model, T2I_GELU_SLOPE),
                       m->hidden + row * GROUP, m->sh + row, m->strip[core], t->sums[core], &bad);
        if (status != EMU_OK) {
            m->bad[core] = row + bad;
            return status;
        }
    }
    return EMU_OK;
}

static int32_t mlp_status(struct mlp *m, int32_t status)
{
    int32_t bad = m->bad[0] >= 0 ? m->bad[0] : m->bad[1];
    if (status == EMU_NOT_FINITE)
        m->t->run->branch = bad / TOKENS;
    return stage_status(m->t->run, "s#.@.b*.mlp", status, bad % TOKENS);
}

static int32_t groups(struct mlp *m)
{
    struct t2i *t = m->t;
    int32_t block = T2I_BLOCK + t->run->block * T2I_BLOCK_SIZE;
    m->down = layer_at(t, block + BLOCK_FC2, 0, 0);
    int32_t status = run_parts(t->run, bias_part, m, ROWS);
    for (int32_t first = 0; first < HIDDEN && status == EMU_OK; first += GROUP) {
        m->up = layer_at(t, block + BLOCK_FC1, first, WIDTH);
        status = run_parts(t->run, hidden_part, m, ROWS / STRIP_ROWS);
        if (status != EMU_OK)
            return mlp_status(m, status);
        struct model_layer columns = {m->down.w + first, m->down.sw, m->down.b};
        struct t2i_linear linear = {m->hidden, GROUP, m->sh, ROWS, columns, WIDTH, GROUP, m->y, WIDTH};
        status = t2i_accumulate(t, &linear, HIDDEN);
    }
    return status;
}

int32_t t2i_mlp(struct t2i *t, const float *gates, int32_t stride)
{
    struct mlp m = {.t = t, .bad = {-1, -1}};
    uint32_t mark = arena_mark(t->run);
    m.y = TAKE(t->run, float, ROWS *WIDTH);
    m.hidden = TAKE(t->run, int8_t, ROWS *GROUP);
    m.sh = TAKE(t->run, float, ROWS);
    for (int32_t core = 0; core < EMU_CORES; core++)
        m.strip[core] = TAKE(t->run, float, STRIP_ROWS *GROUP);
    int32_t status = memory_status(t->run);
    if (status == EMU_OK)
        status = groups(&m);
    if (status == EMU_OK)
        status = t2i_add_gated(t, m.y, gates, stride);
    arena_release(t->run, mark);
    if (status == EMU_OK)
        TAP_BRANCHES(t, "s#.@.b*.mlp", t->x, TOKENS, WIDTH, WIDTH);
    return status;
}
