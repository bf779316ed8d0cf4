/* Kernels of the models: layers over quantized rows, norms, attention, convolution, sampling.
 *
 * The rules of emu_kernels.h hold here too: the mirror of each function has its name and its parameters in
 * this order, strides count elements, numbers in brackets are sections of docs/numerics.md. In addition:
 *
 * - A sum starts at +0.0f unless a start is named, and runs in ascending order with one accumulator.
 * - `scratch` is working memory of the caller, 16-byte aligned (else status 3), EMU_*_SCRATCH bytes long (at most);
 *   what it holds afterwards means nothing. Typed scratch (`acc`, `column`, `row`) needs the alignment of its type.
 * - Order of checks: sizes and strides (1), columns (2), alignment (3), contents (4). A call refused with 1, 2 or 3
 *   writes nothing. *bad is written with status 4 and only then; what else is written then is said per function.
 * - A float stride below the columns, a negative size: status 1. Void functions do nothing for sizes <= 0.
 * - int8 and packed operands: pointer 16-byte aligned and stride a multiple of 16 bytes (3), rows padded to whole
 *   vectors with zeros (ternary: 01). Where a function says "any alignment" this does not hold.
 * - x and y may be the same memory only where a function works in place or says so.
 * - A function named *_c is the plain C twin of the one before it: same rules, same mirror.
 */
#ifndef EMU_MODEL_KERNELS_H
#define EMU_MODEL_KERNELS_H

#include "emu_kernels.h"

#define EMU_PAD16(n) (((n) + 15) & ~15)

/* --- elementwise, float32, no status ---------------------------------------------------------------- */
void add_array(const float *a, const float *b, float *y, int32_t n);      /* y = a + b; y may be a or b */
void multiply_array(const float *a, const float *b, float *y, int32_t n); /* y = a * b; y may be a or b */
void scale_array(float *x, int32_t n, float factor);                      /* x = x * factor */
void relu_in_place(float *x, int32_t n);                                  /* (1) */
void silu_in_place(float *x, int32_t n);                                  /* (7) */
void gelu_in_place(float *x, int32_t n, const float *value, const float *slope); /* (7) */
/* y = y * (1.0f + sc[c]) + sh[c], rows of y, in place (10). */
void modulate(float *y, int32_t y_stride, const float *sh, const float *sc, int32_t rows, int32_t cols);
/* y = y * w[c] + b[c], rows of y, in place (10, text encoder). */
void affine(float *y, int32_t y_stride, const float *w, const float *b, int32_t rows, int32_t cols);
/* x = x + y */
void residual_add(float *x, int32_t x_stride, const float *y, int32_t y_stride, int32_t rows, int32_t cols);
/* x = x + g[c] * y */
void residual_gated(float *x, int32_t x_stride, const float *y, int32_t y_stride, const float *g, int32_t rows,
                    int32_t cols);
/* y = (x + table * by) * factor: per-layer embeddings of tinylm */
void ple_mix(const float *x, const float *table, float *y, int32_t n, float by, float factor);
/* v = vu + cfg * (vc - vu); z = z + (t[step + 1] - t[step]) * v, t[i] = 1.0f - (float)i / (float)steps (10) */
void flow_step(float *z, const float *vc, const float *vu, int32_t n, float cfg, int32_t step, int32_t steps);
void to_rgb(const float *y, uint8_t *rgb, int32_t n);                     /* (10) NaN becomes 0 */
/* p = t * 1000.0f; y[k] = cos, y[half + k] = sin of turns(p, f[k]), k in 0..half-1 (10) */
void time_embedding(float t, const float *f, float *y, int32_t half);
/* RoPE in place: x [heads][dh], dh even, f [dh/2]; the angle is turns((float)position, f[k]) (10) */
void rope(float *x, int32_t heads, int32_t dh, int32_t position, const float *f);
void half_array(const uint16_t *x, float *y, int32_t n);                  /* binary16 to binary32, exact */
/* y[c] = (float)code * (float)scale[c / group]; one packed row of any alignment, even column in the low nibble (8) */
void int4_row(const uint8_t *w, const uint16_t *scale, int32_t cols, int32_t group, float *y);
/* Rows of 2x2 pixels: z [height][width][channels], height and width even. Token n = (width/2)*(y/2) + x/2, its value
 * (2*(y%2) + x%2)*channels + c at y[n * y_stride + ...], y_stride >= 4*channels. unpatch is the inverse. */
void patch(const float *z, int32_t height, int32_t width, int32_t channels, float *y, int32_t y_stride);
void unpatch(const float *x, int32_t x_stride, int32_t height, int32_t width, int32_t channels, float *z);

/* --- rows, float32 ---------------------------------------------------------------------------------- */
/* (10) without affine part; y may be x with y_stride = x_stride. rows >= 0, cols >= 1: else 1. */
int32_t layernorm(const float *x, int32_t x_stride, float *y, int32_t y_stride, int32_t rows, int32_t cols);
int32_t rmsnorm(const float *x, int32_t x_stride, const float *w, float *y, int32_t y_stride, int32_t rows,
                int32_t cols); /* (10) y = (x * inv) * w; y may be x with y_stride = x_stride */
/* y[c] = (sum over rows of x[r][c]) * (1.0f / (float)rows); rows >= 1, cols >= 0 */
int32_t pool_rows(const float *x, int32_t x_stride, int32_t rows, int32_t cols, float *y);
/* y[o] = b[o] + (sum over c of w[o * cols + c] * x[c]): the sum first, from +0.0f, then b + sum */
int32_t linear_f32(const float *x, const float *w, const float *b, int32_t outs, int32_t cols, float *y);
/* y[r] = table[ids[r]] + pos[r], rows of cols. An id outside 0..vocabulary-1: status 1, nothing written. */
int32_t embed_rows(const int32_t *ids, int32_t rows, const float *table, int32_t vocabulary, const float *pos,
                   int32_t cols, float *y);
/* Index of the largest element, the lowest on ties; an element that is NaN is never larger. n >= 1, else -1. */
int32_t argmax_f32(const float *x, int32_t n);
/* models.md section 3: m = x[argmax_f32]; r[i] = exp_f32((x[i] - m) * (1.0f / temperature)); total = sum of r;
 * u = (float)(next >> 8) * 2^-24, one word of xorshift32 (a zero state is replaced first); first i whose running
 * sum > u * total, else n - 1. n >= 1, else -1 and state untouched. */
int32_t sample_f32(const float *x, int32_t n, float temperature, uint32_t *state);

/* --- int8 linear layers (10) -------------------------------------------------------------------------- */
/* Rows that are already quantized: y[r * y_stride + o] = (float)dot * (sx[r] * sw[o]) + b[o].
 * x int8 [rows][x_stride], sx [rows], w int8 [outs][w_stride], sw, b [outs]. cols >= 0. */
#define EMU_LINEAR_Q8_SCRATCH(rows) (8 * (rows))
int32_t linear_q8(const int8_t *x, int32_t x_stride, const float *sx, int32_t rows, const int8_t *w,
                  int32_t w_stride, const float *sw, const float *b, int32_t outs, int32_t cols, float *y,
                  int32_t y_stride, uint8_t *scratch);
int32_t linear_q8_c(const int8_t *x, int32_t x_stride, const float *sx, int32_t rows, const int8_t *w,
                    int32_t w_stride, const float *sw, const float *b, int32_t outs, int32_t cols, float *y,
                    int32_t y_stride, uint8_t *scratch);
/* y[r][o] = y[r][o] + (float)dot * (sx[r] * sw[o]): one group of mlp_grouped. Same rules. */
int32_t accumulate_q8(const int8_t *x, int32_t x_stride, const float *sx, int32_t rows, const int8_t *w,
                      int32_t w_stride, const float *sw, int32_t outs, int32_t cols, float *y, int32_t y_stride,
                      uint8_t *scratch);
int32_t accumulate_q8_c(const int8_t *x, int32_t x_stride, const float *sx, int32_t rows, const int8_t *w,
                        int32_t w_stride, const float *sw, int32_t outs, int32_t cols, float *y, int32_t y_stride,
                        uint8_t *scratch);
/* All rows of x by quantize_row_s8, then linear_q8. cols >= 1. Status 4: *bad = row, y untouched. */
#define EMU_LINEAR_SCRATCH(rows, cols) ((rows) * (EMU_PAD16(cols) + 12))
int32_t linear_w8a8(const float *x, int32_t x_stride, int32_t rows, const int8_t *w, int32_t w_stride,
                    const float *sw, const float *b, int32_t outs, int32_t cols, float *y, int32_t y_stride,
                    uint8_t *scratch, int32_t *bad);
/* h = linear_w8a8(x, w1) [hidden]; groups of `group` columns of h ascending: GELU, quantize_row_s8 per row and group,
 * y = y + (float)dot * (sh * sw2[o]), starting from b2. w1 [hidden][w1_stride], w2 [outs][w2_stride].
 * cols, hidden >= 1, group >= 16 a multiple of 16 that divides hidden: else 1.
 * All rows pass through one group before the next begins. Status 4 of x: *bad = row, y untouched. Status 4 of group g
 * of the hidden rows: *bad = row, y holds b2 + groups 0..g-1 for all rows. */
#define EMU_MLP_SCRATCH(rows, cols, group) ((rows) * (EMU_PAD16(cols) + 5 * (group) + 16))
int32_t mlp_grouped(const float *x, int32_t x_stride, int32_t rows, const int8_t *w1, int32_t w1_stride,
                    const float *sw1, const float *b1, const int8_t *w2, int32_t w2_stride, const float *sw2,
                    const float *b2, int32_t cols, int32_t hidden, int32_t outs, int32_t group, const float *value,
                    const float *slope, float *y, int32_t y_stride, uint8_t *scratch, int32_t *bad);

/* --- attention (10) ------------------------------------------------------------------------------------ */
/* Columns of x [rows][x_stride] to rows of q: (q[c][0..rows-1], scale[c]) = quantize_row_s8 of column c; q[c][rows ..
 * EMU_PAD16(rows)-1] = 0. q any alignment, q_stride >= EMU_PAD16(rows). rows >= 1, cols >= 0. column: scratch
 * float [rows]. Status 4: *bad = column, columns before it are complete, nothing is written for it or later ones. */
int32_t quantize_columns_s8(const float *x, int32_t x_stride, int32_t rows, int32_t cols, int8_t *q,
                            int32_t q_stride, float *scale, float *column, int32_t *bad);
/* m = max of a row of logits; r = exp_f32(l - m); sum[r] = sum of r; o = rne(r * 127.0f); o[cols ..
 * EMU_PAD16(cols)-1] = 0. cols >= 1, o any alignment, o_stride >= EMU_PAD16(cols). A logit that is not finite:
 * status 4, *bad = row, rows before it are complete, nothing is written for it or later ones. */
int32_t softmax_s8(const float *x, int32_t x_stride, int32_t rows, int32_t cols, int8_t *o, int32_t o_stride,
                   float *sum, int32_t *bad);
/* One head, `rows` queries against `tokens` keys and values, all quantized:
 * l = (float)dot(q, k) * ((sq[r] * sk[j]) * inv_sqrt_dh); softmax_s8; a = 1.0f / (sum * 127.0f);
 * out[r * out_stride + c] = (float)dot(o, vt row c) * (a * sv[c]). q [rows][q_stride], k [tokens][k_stride], vt
 * [dh][vt_stride], vt_stride >= EMU_PAD16(tokens). tokens >= 1, dh >= 16 a multiple of 16: else 1. tokens or dh over
 * EMU_MAX_COLUMNS: 2. Status 4: *bad = query, out of earlier queries is complete, nothing written from it on. */
#define EMU_ATTENTION_Q8_SCRATCH(tokens, dh) (5 * EMU_PAD16(tokens) + 4 * (dh))
int32_t attention_q8(const int8_t *q, int32_t q_stride, const float *sq, int32_t rows, const int8_t *k,
                     int32_t k_stride, const float *sk, int32_t tokens, int32_t dh, float inv_sqrt_dh,
                     const int8_t *vt, int32_t vt_stride, const float *sv, float *out, int32_t out_stride,
                     uint8_t *scratch, int32_t *bad);
int32_t attention_q8_c(const int8_t *q, int32_t q_stride, const float *sq, int32_t rows, const int8_t *k,
                       int32_t k_stride, const float *sk, int32_t tokens, int32_t dh, float inv_sqrt_dh,
                       const int8_t *vt, int32_t vt_stride, const float *sv, float *out, int32_t out_stride,
                       uint8_t *scratch, int32_t *bad);
/* One head from float32 rows (stride: of q, k and v alike): quantize_row_s8 of all q rows, then of all k rows,
 * quantize_columns_s8 of v, attention_q8 of all rows. Status 4: *bad = row of q, row of k, column of v (out untouched),
 * or query as in attention_q8. */
#define EMU_ATTENTION_SCRATCH(tokens, dh) \
    ((2 * (tokens) + EMU_PAD16(tokens)) * (dh) + 17 * EMU_PAD16(tokens) + 8 * (dh))
int32_t attention_s8(const float *q, const float *k, const float *v, int32_t stride, int32_t tokens, int32_t dh,
                     float inv_sqrt_dh, float *out, int32_t out_stride, uint8_t *scratch, int32_t *bad);
/* One position of a cache: (kq[h][position], sk[h][position]) = quantize_row_s8(k[h]), (vt[h][..][position],
 * sv[h][position]) = quantize_row_s8(v[h]). k, v float [heads][dh]; kq int8 [heads][capacity][dh]; vt int8
 * [heads][dh][capacity]; sk, sv float [heads][capacity]. When position is a multiple of 16, vt[h][..][position + 1 ..
 * position + 15] = 0. capacity >= 16 and dh >= 16 multiples of 16, heads >= 0, 0 <= position < capacity: else 1. kq, vt
 * 16-byte aligned (3). Status 4: *bad = head (k is looked at before v); earlier heads are complete, nothing is written
 * for it or later ones. row: scratch int8 [dh]. */
int32_t kv8_write(const float *k, const float *v, int32_t heads, int32_t dh, int32_t position, int32_t capacity,
                  int8_t *kq, float *sk, int8_t *vt, float *sv, int8_t *row, int32_t *bad);
/* One query against positions 0..count-1 of the cache above, all heads; q, out float [heads][dh]. count in 1..capacity.
 * Status 4: *bad = head; q, a logit or the weighted row r * sv is not finite; earlier heads are complete, nothing is
 * written for it or later ones. */
#define EMU_ATTENTION_KV8_SCRATCH(count, dh) (5 * EMU_PAD16(count) + 5 * (dh))
int32_t attention_kv8(const float *q, int32_t heads, int32_t dh, int32_t count, int32_t capacity,
                      const int8_t *kq, const float *sk, const int8_t *vt, const float *sv, float inv_sqrt_dh,
                      float *out, uint8_t *scratch, int32_t *bad);

/* --- convolution (10) ------------------------------------------------------------------------------------ */
/* x int8 HWC [height][width][channels], any alignment. up 0 or 1: the picture is (height << up) x (width << up),
 * pixel (y, x) is pixel (y >> up, x >> up) of x. relu 0 or 1: max(x, 0) on read. w int8 [outs][w_stride], K =
 * 9 * channels columns, 16-byte aligned. v = (float)dot * (s_in * sw[o]) + b[o].
 * Computes rows first .. first + rows - 1 of the picture; y points to the whole picture [..][..][outs].
 * height, width, channels, outs >= 1, up and relu 0 or 1, rows >= 0, 0 <= first, first + rows <= height << up:
 * else 1. */
#define EMU_CONV_SCRATCH(out_width, channels, outs) ((out_width) * (EMU_PAD16(9 * (channels)) + 4 * (outs) + 12))
/* y = quantize_static_s8(v, s_out) */
int32_t conv3x3_s8(const int8_t *x, int32_t height, int32_t width, int32_t channels, int32_t up, int32_t relu,
                   float s_in, const int8_t *w, int32_t w_stride, const float *sw, const float *b, int32_t outs,
                   float s_out, int8_t *y, int32_t first, int32_t rows, uint8_t *scratch);
int32_t conv3x3_s8_c(const int8_t *x, int32_t height, int32_t width, int32_t channels, int32_t up, int32_t relu,
                     float s_in, const int8_t *w, int32_t w_stride, const float *sw, const float *b, int32_t outs,
                     float s_out, int8_t *y, int32_t first, int32_t rows, uint8_t *scratch);
/* The residual in place: y = quantize_static_s8(v + (float)y * s_y, s_out). */
int32_t conv3x3_add_s8(const int8_t *x, int32_t height, int32_t width, int32_t channels, int32_t up, int32_t relu,
                       float s_in, const int8_t *w, int32_t w_stride, const float *sw, const float *b, int32_t outs,
                       float s_y, float s_out, int8_t *y, int32_t first, int32_t rows, uint8_t *scratch);
int32_t conv3x3_add_s8_c(const int8_t *x, int32_t height, int32_t width, int32_t channels, int32_t up, int32_t relu,
                         float s_in, const int8_t *w, int32_t w_stride, const float *sw, const float *b,
                         int32_t outs, float s_y, float s_out, int8_t *y, int32_t first, int32_t rows,
                         uint8_t *scratch);
/* y = v, float32 */
int32_t conv3x3_f32(const int8_t *x, int32_t height, int32_t width, int32_t channels, int32_t up, int32_t relu,
                    float s_in, const int8_t *w, int32_t w_stride, const float *sw, const float *b, int32_t outs,
                    float *y, int32_t first, int32_t rows, uint8_t *scratch);
int32_t conv3x3_f32_c(const int8_t *x, int32_t height, int32_t width, int32_t channels, int32_t up, int32_t relu,
                      float s_in, const int8_t *w, int32_t w_stride, const float *sw, const float *b, int32_t outs,
                      float *y, int32_t first, int32_t rows, uint8_t *scratch);

/* --- ternary and int4 linear layers (8, 10) ---------------------------------------------------------------- */
/* y[r][o] = (float)dot * (scale / a_scale). x int8 [rows][x_stride]; w packed [outs][w_stride bytes]. w_stride below
 * ceil(cols / 4): status 1. acc: scratch int32 [rows]. The twin takes any alignment and reads no padding. */
int32_t linear_ternary(const int8_t *x, int32_t x_stride, int32_t rows, const uint8_t *w, int32_t w_stride,
                       int32_t outs, int32_t cols, float scale, float a_scale, float *y, int32_t y_stride,
                       int32_t *acc);
int32_t linear_ternary_c(const int8_t *x, int32_t x_stride, int32_t rows, const uint8_t *w, int32_t w_stride,
                         int32_t outs, int32_t cols, float scale, float a_scale, float *y, int32_t y_stride,
                         int32_t *acc);
/* BitLinear: quantize_ternary_s8 over the whole x [rows][cols] (contiguous), then linear_ternary. rows >= 1, cols >= 16
 * a multiple of 16: else 1. Status 4: y untouched (no *bad: the scale belongs to the whole tensor). */
#define EMU_BITLINEAR_SCRATCH(rows, cols) ((rows) * ((cols) + 4))
int32_t bitlinear(const float *x, int32_t rows, int32_t cols, const uint8_t *w, int32_t w_stride, int32_t outs,
                  float scale, float *y, int32_t y_stride, uint8_t *scratch);
/* One row of activations, already quantized: y[o] = (+0.0f, groups ascending: y + (float)dot_g * (float)scale[o][g]) *
 * sx. w packed [outs][w_stride bytes], scale binary16 [outs][ceil(cols / group)]; group >= 16 a multiple of 16: else 1.
 * w_stride below ceil(cols / 2): 1. acc: scratch int32 [ceil(cols / group)]. The twin takes any alignment. */
int32_t linear_int4_q8(const int8_t *x, float sx, int32_t cols, const uint8_t *w, int32_t w_stride,
                       const uint16_t *scale, int32_t group, int32_t outs, float *y, int32_t *acc);
int32_t linear_int4_q8_c(const int8_t *x, float sx, int32_t cols, const uint8_t *w, int32_t w_stride,
                         const uint16_t *scale, int32_t group, int32_t outs, float *y, int32_t *acc);
/* quantize_row_s8 of x [cols], then linear_int4_q8. cols >= 1. Status 4: y untouched. */
#define EMU_LINEAR_INT4_SCRATCH(cols, group) (EMU_PAD16(cols) + 4 * (((cols) + (group) - 1) / (group)))
int32_t linear_int4(const float *x, int32_t cols, const uint8_t *w, int32_t w_stride, const uint16_t *scale,
                    int32_t group, int32_t outs, float *y, uint8_t *scratch);

#endif
