/* Attention of one head over quantized rows, with the dot product as a parameter. numerics.md section 10. */
#ifndef EMU_ATTENTION_Q8_H
#define EMU_ATTENTION_Q8_H

#include "dot_checks.h"
#include "emu_model_kernels.h"
#include "softmax.h"

typedef int32_t rows_dot(const int8_t *x, int32_t x_stride, int32_t rows, const int8_t *w, int32_t cols, int32_t *acc,
                         int32_t acc_stride);

static inline int32_t check_attention(const int8_t *q, int32_t q_stride, int32_t rows, const int8_t *k, int32_t k_stride,
                                      int32_t tokens, int32_t dh, const int8_t *vt, int32_t vt_stride,
                                      int32_t out_stride, const uint8_t *scratch)
{
    if (rows < 0 || tokens < 1 || dh < EMU_VECTOR_BYTES || dh % EMU_VECTOR_BYTES != 0 || q_stride < dh || k_stride < dh ||
        out_stride < dh || vt_stride < tokens)
        return EMU_BAD_ARGUMENT;
    if (tokens <= EMU_MAX_COLUMNS && vt_stride < EMU_PAD16(tokens))
        return EMU_BAD_ARGUMENT;
    if (tokens > EMU_MAX_COLUMNS || dh > EMU_MAX_COLUMNS)
        return EMU_TOO_MANY_COLUMNS;
    int32_t status = check_aligned(q, q_stride, k, k_stride);
    return status != EMU_OK ? status : check_aligned(scratch, 0, vt, vt_stride);
}

union score {
    int32_t dot;
    float logit;
};

/* acc [n] int32 becomes logits in the same memory: (float)acc * ((sq * sk[j]) * inv_sqrt_dh). */
static inline float *scores_to_logits(int32_t *acc, int32_t n, float sq, const float *sk, float inv_sqrt_dh)
{
    union score *score = (union score *)(void *)acc;
    for (int32_t j = 0; j < n; j++)
        score[j].logit = (float)score[j].dot * ((sq * sk[j]) * inv_sqrt_dh);
    return &score->logit;
}

static inline __attribute__((always_inline)) int32_t
attention_q8_with(rows_dot *dot, const int8_t *q, int32_t q_stride, const float *sq, int32_t rows, const int8_t *k,
                  int32_t k_stride, const float *sk, int32_t tokens, int32_t dh, float inv_sqrt_dh, const int8_t *vt,
                  int32_t vt_stride, const float *sv, float *out, int32_t out_stride, uint8_t *scratch, int32_t *bad)
{
    int32_t status = check_attention(q, q_stride, rows, k, k_stride, tokens, dh, vt, vt_stride, out_stride, scratch);
    if (status != EMU_OK)
        return status;
    int32_t padded = EMU_PAD16(tokens);
    int8_t *o = (int8_t *)scratch;
    int32_t *acc = (int32_t *)(void *)(scratch + padded), *sums = acc + padded;
    for (int32_t r = 0; r < rows; r++, q += q_stride, out += out_stride) {
        int32_t finite;
        dot(k, k_stride, tokens, q, dh, acc, 1);
        const float *l = scores_to_logits(acc, tokens, sq[r], sk, inv_sqrt_dh);
        float m = largest_logit(l, tokens, &finite);
        if (!finite) {
            *bad = r;
            return EMU_NOT_FINITE;
        }
        float sum = softmax_codes(l, tokens, m, o, padded);
        float a = 1.0f / (sum * 127.0f);
        dot(vt, vt_stride, dh, o, padded, sums, 1);
        for (int32_t c = 0; c < dh; c++)
            out[c] = (float)sums[c] * (a * sv[c]);
    }
    return EMU_OK;
}

#endif
