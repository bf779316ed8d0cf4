/* kv8_write and attention_kv8: a quantized cache of keys and values. numerics.md section 10. */
#include "dot_checks.h"
#include "emu_model_kernels.h"
#include "softmax.h"

static int32_t check_cache(int32_t heads, int32_t dh, int32_t capacity, const int8_t *kq, const int8_t *vt)
{
    if (heads < 0 || dh < EMU_VECTOR_BYTES || dh % EMU_VECTOR_BYTES != 0 || capacity < EMU_VECTOR_BYTES ||
        capacity % EMU_VECTOR_BYTES != 0)
        return EMU_BAD_ARGUMENT;
    return is_misaligned(kq) || is_misaligned(vt) ? EMU_MISALIGNED : EMU_OK;
}

/* One column of vt; the first of 16 positions clears the others, which vectors read before they are written. */
static void store_column(const int8_t *row, int32_t dh, int32_t position, int32_t capacity, int8_t *vt)
{
    int32_t cleared = position % EMU_VECTOR_BYTES == 0 ? EMU_VECTOR_BYTES : 1;
    for (int32_t c = 0; c < dh; c++) {
        int8_t *at = vt + c * capacity + position;
        at[0] = row[c];
        for (int32_t j = 1; j < cleared; j++)
            at[j] = 0;
    }
}

int32_t kv8_write(const float *k, const float *v, int32_t heads, int32_t dh, int32_t position, int32_t capacity,
                  int8_t *kq, float *sk, int8_t *vt, float *sv, int8_t *row, int32_t *bad)
{
    int32_t status = check_cache(heads, dh, capacity, kq, vt);
    if (status == EMU_BAD_ARGUMENT || position < 0 || position >= capacity)
        return EMU_BAD_ARGUMENT;
    if (status != EMU_OK)
        return status;
    for (int32_t h = 0; h < heads; h++, k += dh, v += dh) {
        int32_t at = h * capacity + position, ignored;
        float k_scale, v_scale;
        if (quantize_row_s8(v, dh, row, dh, &v_scale, 1, dh, &ignored) != EMU_OK ||
            quantize_row_s8(k, dh, kq + at * dh, dh, &k_scale, 1, dh, &ignored) != EMU_OK) {
            *bad = h;
            return EMU_NOT_FINITE;
        }
        store_column(row, dh, position, capacity, vt + h * dh * capacity);
        sk[at] = k_scale;
        sv[at] = v_scale;
    }
    return EMU_OK;
}

union score {
    int32_t dot;
    float logit;
};

/* acc [n] int32 becomes logits in the same memory: (float)acc * ((sq * sk[j]) * inv_sqrt_dh). */
static float *scores_to_logits(int32_t *acc, int32_t n, float sq, const float *sk, float inv_sqrt_dh)
{
    union score *score = (union score *)(void *)acc;
    for (int32_t j = 0; j < n; j++)
        score[j].logit = (float)score[j].dot * ((sq * sk[j]) * inv_sqrt_dh);
    return &score->logit;
}

/* r_j * sv[j] in place of the logits; returns the sum of r. */
static float weigh_values(float *l, int32_t n, float m, const float *sv)
{
    float sum = 0.0f;
    for (int32_t j = 0; j < n; j++) {
        float r = exp_f32(l[j] - m);
        sum = sum + r;
        l[j] = r * sv[j];
    }
    return sum;
}

/* One head: status 4 when q, a logit or the weighted row is not finite. */
static int32_t attend(const float *q, int32_t dh, int32_t count, int32_t capacity, const int8_t *kq, const float *sk,
                      const int8_t *vt, const float *sv, float inv_sqrt_dh, float *out, uint8_t *scratch)
{
    int32_t padded = EMU_PAD16(count), ignored, finite;
    int8_t *qq = (int8_t *)scratch, *wq = qq + dh;
    int32_t *acc = (int32_t *)(void *)(wq + padded), *sums = acc + padded;
    float sq, sw;
    if (quantize_row_s8(q, dh, qq, dh, &sq, 1, dh, &ignored) != EMU_OK)
        return EMU_NOT_FINITE;
    dot_rows_s8(kq, dh, count, qq, dh, acc, 1);
    float *l = scores_to_logits(acc, count, sq, sk, inv_sqrt_dh);
    float m = largest_logit(l, count, &finite);
    if (!finite)
        return EMU_NOT_FINITE;
    float sum = weigh_values(l, count, m, sv);
    if (quantize_row_s8(l, count, wq, padded, &sw, 1, count, &ignored) != EMU_OK)
        return EMU_NOT_FINITE;
    for (int32_t j = count; j < padded; j++)
        wq[j] = 0;
    dot_rows_s8(vt, capacity, dh, wq, padded, sums, 1);
    float factor = sw * (1.0f / sum);
    for (int32_t c = 0; c < dh; c++)
        out[c] = (float)sums[c] * factor;
    return EMU_OK;
}

int32_t attention_kv8(const float *q, int32_t heads, int32_t dh, int32_t count, int32_t capacity, const int8_t *kq,
                      const float *sk, const int8_t *vt, const float *sv, float inv_sqrt_dh, float *out,
                      uint8_t *scratch, int32_t *bad)
{
    int32_t status = check_cache(heads, dh, capacity, kq, vt);
    if (status == EMU_BAD_ARGUMENT || count < 1 || count > capacity)
        return EMU_BAD_ARGUMENT;
    if (dh > EMU_MAX_COLUMNS || count > EMU_MAX_COLUMNS)
        return EMU_TOO_MANY_COLUMNS;
    if (status != EMU_OK || is_misaligned(scratch))
        return EMU_MISALIGNED;
    for (int32_t h = 0; h < heads;
         h++, q += dh, out += dh, sk += capacity, sv += capacity, kq += capacity * dh, vt += capacity * dh)
        if (attend(q, dh, count, capacity, kq, sk, vt, sv, inv_sqrt_dh, out, scratch) != EMU_OK) {
            *bad = h;
            return EMU_NOT_FINITE;
        }
    return EMU_OK;
}
