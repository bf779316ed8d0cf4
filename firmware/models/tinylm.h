/* Inside the language model: sizes, buffers of a step, the pieces of a layer. models.md section 3. */
#ifndef EMU_TINYLM_H
#define EMU_TINYLM_H

#include "arena.h"
#include "model_tensors.h"
#include "par.h"
#include "stages.h"

#define WIDTH 128
#define LAYERS 6
#define HEADS 4
#define HEAD_WIDTH 32
#define FFN 415
#define PLE 64
#define POSITIONS TINYLM_POSITIONS
#define GROUP 32
#define WIDE_GROUP 128
#define MOST_GROUPS 13

/* The cache of one layer. */
struct tinylm_cache {
    int8_t *k;  /* [HEADS][POSITIONS][HEAD_WIDTH] */
    int8_t *vt; /* [HEADS][HEAD_WIDTH][POSITIONS] */
    float *sk;  /* [HEADS][POSITIONS] */
    float *sv;
};

struct tinylm_step {
    struct emu_run *run;
    const struct emu_model *model;
    int32_t position;
    float *h;                /* [WIDTH] */
    float *x;                /* [WIDTH] */
    float *qkv;              /* [3 * WIDTH] */
    float *gate;             /* [FFN] */
    float *up;               /* [FFN] */
    float *ple;              /* [LAYERS][PLE] */
    float *table;            /* [LAYERS * PLE] */
    int8_t *q;               /* [EMU_PAD16(FFN)] */
    int32_t *acc[EMU_CORES]; /* [MOST_GROUPS] */
    uint8_t *scratch;        /* of attention_kv8 */
    int8_t *row;             /* [HEAD_WIDTH] */
};

/* An int4 layer of `outs` rows over x [cols], outputs shared out; status 4 is of `stage`. */
int32_t tinylm_linear(struct tinylm_step *s, const char *stage, int32_t id, const float *x, int32_t cols,
                      int32_t outs, int32_t group, float *y);
/* Quantizes x for tinylm_linear_again: layers that share their input. */
int32_t tinylm_linear_again(struct tinylm_step *s, int32_t id, float sx, int32_t cols, int32_t outs, int32_t group,
                            float *y);
int32_t tinylm_quantize(struct tinylm_step *s, const char *stage, const float *x, int32_t cols, float *sx);
/* y = rmsnorm(x) with weights `id`, n elements. */
void tinylm_norm(const struct tinylm_step *s, int32_t id, const float *x, int32_t n, float *y);
int32_t tinylm_layer(struct tinylm_step *s, int32_t layer);

#endif
