/* Inside the text-to-image model: sizes, what lives as long as a run, and its phases. models.md section 1. */
#ifndef EMU_T2I_H
#define EMU_T2I_H

#include "arena.h"
#include "model_tensors.h"
#include "par.h"
#include "stages.h"

#define TEXT_WIDTH 96
#define TEXT_HEADS 3
#define TEXT_HIDDEN 384
#define TEXT_BLOCKS 2
#define WIDTH 192
#define HEADS 6
#define HEAD_WIDTH 32
#define HIDDEN 576
#define GROUP 96
#define BLOCKS 6
#define TOKENS 64
#define ROWS (2 * TOKENS) /* both guidance branches: c rows first, then u */
#define TIME_WIDTH 256
#define SIDE 16
#define LATENT_CHANNELS 4
#define LATENT (SIDE * SIDE * LATENT_CHANNELS)
#define PATCH_WIDTH 16
#define MOD_WIDTH (6 * WIDTH)
#define FINAL_MOD_STRIDE (2 * WIDTH)
#define CONVS 10
#define PICTURE_SIDE 64
#define MOST_SUMS (8 * ROWS)                     /* scratch of a linear layer over all rows */
#define INV_SQRT_HEAD f32_from_bits(0x3E3504F3u) /* 1/sqrt(32) */

enum modulation { SH1, SC1, G1, SH2, SC2, G2 };

/* What lives as long as the run. */
struct t2i {
    struct emu_run *run;
    struct emu_model model;
    const struct t2i_request *request;
    float *x;         /* [ROWS][WIDTH] */
    float *mod;       /* [2][MOD_WIDTH] */
    float *final_mod; /* [2][FINAL_MOD_STRIDE] */
    float *cond;      /* [2][WIDTH] */
    float *ctext;     /* [2][WIDTH] */
    float *temb;      /* [WIDTH] */
    float *z;         /* [LATENT] */
    int8_t *q;        /* [ROWS][WIDTH]: quantized rows, input of the next linear layer */
    float *sx;        /* [ROWS]: their scales */
    uint8_t *sums[EMU_CORES];
};

/* An int8 layer over quantized rows, outputs shared out to the cores. */
struct t2i_linear {
    const int8_t *x;
    int32_t x_stride;
    const float *sx;
    int32_t rows;
    struct model_layer layer;
    int32_t outs;
    int32_t cols;
    float *y;
    int32_t y_stride;
};

/* layer_at: the first output row of a layer that is needed. */
struct model_layer layer_at(const struct t2i *t, int32_t id, int32_t out, int32_t w_stride);
int32_t t2i_linear(struct t2i *t, const struct t2i_linear *linear);
/* The same without b: added to y. w_stride: bytes from weight row to weight row. */
int32_t t2i_accumulate(struct t2i *t, const struct t2i_linear *linear, int32_t w_stride);
/* rows of x, `stride` apart, to t->q and t->sx from row `first` on; status 4 names the stage. */
int32_t t2i_quantize(struct t2i *t, const char *stage, const float *x, int32_t stride, int32_t first, int32_t rows);
/* layernorm, then modulation with the rows sh and sc of each branch, `stride` floats from branch to branch. */
int32_t t2i_norm(struct t2i *t, float *y, const float *sh, const float *sc, int32_t stride);

/* Prompt to t->ctext. */
int32_t t2i_text(struct t2i *t, const int32_t *tokens, int32_t count);
/* t->temb, cond, mod, final_mod of step t->run->step. */
int32_t t2i_condition(struct t2i *t);
/* Where the consumers of final.mod find the row of a branch. */
const float *t2i_final_mod(const struct t2i *t, int32_t branch);
/* z through patches and blocks to x, for both branches. */
int32_t t2i_denoise(struct t2i *t);
/* x to v [2][LATENT]. */
int32_t t2i_velocity(struct t2i *t, float *v);
/* x = x + g1 * proj(attention(q)) and x = x + g2 * mlp(q) of block t->run->block; gates: the rows g of both branches.
 */
int32_t t2i_attention(struct t2i *t, const float *gates, int32_t stride);
int32_t t2i_mlp(struct t2i *t, const float *gates, int32_t stride);
/* t->x = t->x + g * y, rows shared out. */
int32_t t2i_add_gated(struct t2i *t, const float *y, const float *gates, int32_t stride);
/* t->z to the picture. */
int32_t t2i_decode(struct t2i *t, uint8_t *rgb);

/* Taps of a stage that both branches have: rows of c, then of u, in one tensor [2 * rows][stride]. */
#define TAP_BRANCHES(t, template, data, rows, cols, stride) \
    do { \
        if (EMU_TAPPED((t)->run)) \
            t2i_tap_branches(t, template, data, rows, cols, stride, 0, cols); \
    } while (0)

/* Columns first .. first + cols - 1 of a stage that is `width` columns wide. */
void t2i_tap_branches(struct t2i *t, const char *template, const float *data, int32_t rows, int32_t cols,
                      int32_t stride, int32_t first, int32_t width);

#endif
