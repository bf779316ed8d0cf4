/* Attention of one head over quantized rows, with the dot product as a parameter. numerics.md section 10. */
#ifndef EMU_ATTENTION_Q8_H
#define EMU_ATTENTION_Q8_H

#include "dot_checks.h"
#include "emu_model_kernels.h"
#include "softmax_row.h"

typedef int32_t softmax_function(struct softmax_row *row);
typedef int32_t rows_dot(const int8_t *x, int32_t x_stride, int32_t rows, const int8_t *w, int32_t cols, int32_t *acc,
                         int32_t acc_stride);

static inline int32_t check_attention(const int8_t *q, int32_t q_stride, int32_t rows, const int8_t *k,
                                      int32_t k_stride, int32_t tokens, int32_t dh, const int8_t *vt,
                                      int32_t vt_stride, int32_t out_stride, const uint8_t *scratch)
{
    if (rows < 0 || tokens < 1 || dh < EMU_VECTOR_BYTES || dh % EMU_VECTOR_BYTES != 0 || q_stride < dh ||
        k_stride < dh || out_stride < dh || vt_stride < tokens)
        return EMU_BAD_ARGUMENT;
    if (tokens <= EMU_MAX_COLUMNS && vt_stride < EMU_PAD16(tokens))
        return EMU_BAD_ARGUMENT;
    if (tokens > EMU_MAX_COLUMNS || dh > EMU_MAX_COLUMNS)
        return EMU_TOO_MANY_COLUMNS;
    int32_t status = check_aligned(q, q_stride, k, k_stride);
    return status != EMU_OK ? status : check_aligned(scratch, 0, vt, vt_stride);
}

static inline __attribute__((always_inline)) int32_t
attention_q8_with(rows_dot *dot, softmax_function *softmax, const int8_t *q, int32_t q_stride, const float *sq,
                  int32_t rows, const int8_t *k, int32_t k_stride, const float *sk, int32_t tokens, int32_t dh,
                  float inv_sqrt_dh, const int8_t *vt, int32_t vt_stride, const float *sv, float *out,
                  int32_t out_stride, uint8_t *scratch, int32_t *bad)
{
    int32_t status = check_attention(q, q_stride, rows, k, k_stride, tokens, dh, vt, vt_stride, out_stride, scratch);
    if (status != EMU_OK)
        return status;
    int32_t padded = EMU_PAD16(tokens);
    int8_t *o = (int8_t *)scratch;
    int32_t *scores = (int32_t *)(void *)(scratch + padded), *sums = scores + padded;
    struct softmax_row row = {
        .scores = scores, .n = tokens, .padded = padded, .o = o, .sk = sk, .inv_sqrt_dh = inv_sqrt_dh};
    for (int32_t r = 0; r < rows; r++, q += q_stride, out += out_stride) {
        dot(k, k_stride, tokens, q, dh, scores, 1);
        row.sq = sq[r];
        if (softmax(&row) != EMU_OK) {
            *bad = r;
            return EMU_NOT_FINITE;
        }
        float a = 1.0f / (row.sum * 127.0f);
        dot(vt, vt_stride, dh, o, padded, sums, 1);
        for (int32_t c = 0; c < dh; c++)
            out[c] = (float)sums[c] * (a * sv[c]);
    }
    return EMU_OK;
}

#endif
