/* The three activation quantizers. numerics.md section 8. */
#include "quantize.h"
#include "emu_kernels.h"

#define SMALLEST_MAX_BITS 0x0D800000u /* 2^-100: below it 127 / max would overflow */

static float quantize_one_row(const float *x, int8_t *q, int32_t cols, uint32_t max_bits)
{
    float a = f32_from_bits(max_bits);
    if (max_bits < SMALLEST_MAX_BITS) {
        for (int32_t i = 0; i < cols; i++)
            q[i] = 0;
        return 0.0f;
    }
    quantize_scaled(x, 127.0f / a, q, cols);
    return a / 127.0f;
}

int32_t quantize_row_s8(const float *x, int32_t x_stride, int8_t *q, int32_t q_stride, float *scale,
                        int32_t rows, int32_t cols, int32_t *bad_row)
{
    if (rows < 0 || cols < 1 || x_stride < cols || q_stride < cols)
        return EMU_BAD_ARGUMENT;
    for (int32_t r = 0; r < rows; r++, x += x_stride, q += q_stride) {
        uint32_t max_bits = max_magnitude(x, cols);
        if (max_bits >= F32_INFINITY_BITS) {
            *bad_row = r;
            return EMU_NOT_FINITE;
        }
        scale[r] = quantize_one_row(x, q, cols, max_bits);
    }
    return EMU_OK;
}

void quantize_static_s8(const float *x, int8_t *q, int32_t n, float s)
{
    float inv_scale = 1.0f / s;
    for (int32_t i = 0; i < n; i++)
        q[i] = quantize_clamped(x[i], inv_scale);
}

int32_t quantize_ternary_s8(const float *x, int8_t *q, int32_t n, float *a_scale)
{
    if (n < 1)
        return EMU_BAD_ARGUMENT;
    uint32_t max_bits = max_magnitude(x, n);
    if (max_bits >= F32_INFINITY_BITS)
        return EMU_NOT_FINITE;
    float a = f32_from_bits(max_bits);
    float least = f32_from_bits(0x3727C5ACu); /* 1e-5 */
    float factor = 127.0f / (a > least ? a : least);
    quantize_scaled(x, factor, q, n);
    *a_scale = factor;
    return EMU_OK;
}
