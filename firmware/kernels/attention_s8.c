/* attention_s8: one head from float32 rows. numerics.md section 10. */
#include "attention_q8.h"

/* Where the pieces of the scratch memory lie. */
struct attention_scratch {
    int8_t *q;
    int8_t *k;
    int8_t *vt;
    uint8_t *rest; /* of attention_q8 */
    float *sq;
    float *sk;
    float *sv;
    float *column;
};

static struct attention_scratch split_scratch(uint8_t *scratch, int32_t tokens, int32_t padded, int32_t dh)
{
    struct attention_scratch s;
    s.q = (int8_t *)scratch;
    s.k = s.q + tokens * dh;
    s.vt = s.k + tokens * dh;
    s.rest = (uint8_t *)(s.vt + dh * padded);
    s.sq = (float *)(void *)(s.rest + EMU_ATTENTION_Q8_SCRATCH(tokens, dh));
    s.sk = s.sq + padded;
    s.sv = s.sk + padded;
    s.column = s.sv + dh;
    return s;
}

int32_t attention_s8(const float *q, const float *k, const float *v, int32_t stride, int32_t tokens, int32_t dh,
                     float inv_sqrt_dh, float *out, int32_t out_stride, uint8_t *scratch, int32_t *bad)
{
    if (tokens < 1 || dh < EMU_VECTOR_BYTES || dh % EMU_VECTOR_BYTES != 0 || stride < dh || out_stride < dh)
        return EMU_BAD_ARGUMENT;
    if (tokens > EMU_MAX_COLUMNS || dh > EMU_MAX_COLUMNS)
        return EMU_TOO_MANY_COLUMNS;
    if (is_misaligned(scratch))
        return EMU_MISALIGNED;
    int32_t padded = EMU_PAD16(tokens);
    struct attention_scratch s = split_scratch(scratch, tokens, padded, dh);
    int32_t status = quantize_row_s8(q, stride, s.q, dh, s.sq, tokens, dh, bad);
    if (status == EMU_OK)
        status = quantize_row_s8(k, stride, s.k, dh, s.sk, tokens, dh, bad);
    if (status == EMU_OK)
        status = quantize_columns_s8(v, stride, tokens, dh, s.vt, padded, s.sv, s.column, bad);
    if (status != EMU_OK)
        return status;
    return attention_q8(s.q, dh, s.sq, tokens, s.k, dh, s.sk, tokens, dh, inv_sqrt_dh, s.vt, padded, s.sv, out,
                        out_stride, s.rest, bad);
}
