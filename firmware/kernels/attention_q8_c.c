/* attention_q8_c: the plain C twin. numerics.md section 10. */
#include "attention_q8.h"

int32_t attention_q8_c(const int8_t *q, int32_t q_stride, const float *sq, int32_t rows, const int8_t *k,
                       int32_t k_stride, const float *sk, int32_t tokens, int32_t dh, float inv_sqrt_dh,
                       const int8_t *vt, int32_t vt_stride, const float *sv, float *out, int32_t out_stride,
                       uint8_t *scratch, int32_t *bad)
{
    return attention_q8_with(dot_rows_s8_c, softmax_row_c, q, q_stride, sq, rows, k, k_stride, sk, tokens, dh,
                             inv_sqrt_dh, vt, vt_stride, sv, out, out_stride, scratch, bad);
}
