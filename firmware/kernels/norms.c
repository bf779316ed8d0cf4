/* layernorm and rmsnorm. numerics.md section 10. */
#include "arith.h"
#include "bits.h"
#include "emu_model_kernels.h"

#define NORM_EPSILON f32_from_bits(0x358637BDu) /* 1e-6 */

static float inverse_root(float mean_square)
{
    return 1.0f / sqrt_f32(mean_square + NORM_EPSILON);
}

static float mean_of(const float *x, int32_t n, float one_over_n)
{
    float sum = 0.0f;
    for (int32_t i = 0; i < n; i++)
        sum = sum + x[i];
    return sum * one_over_n;
}

/* Leaves x - mean in y. */
static float variance_of(const float *x, float *y, int32_t n, float mean, float one_over_n)
{
    float sum = 0.0f;
    for (int32_t i = 0; i < n; i++) {
        float d = x[i] - mean;
        y[i] = d;
        sum = sum + d * d;
    }
    return sum * one_over_n;
}

int32_t layernorm(const float *x, int32_t x_stride, float *y, int32_t y_stride, int32_t rows, int32_t cols)
{
    if (rows < 0 || cols < 1 || x_stride < cols || y_stride < cols)
        return EMU_BAD_ARGUMENT;
    float one_over_cols = 1.0f / (float)cols;
    for (int32_t r = 0; r < rows; r++, x += x_stride, y += y_stride) {
        float mean = mean_of(x, cols, one_over_cols);
        float inv = inverse_root(variance_of(x, y, cols, mean, one_over_cols));
        for (int32_t c = 0; c < cols; c++)
            y[c] = y[c] * inv;
    }
    return EMU_OK;
}

static float mean_square_of(const float *x, int32_t n, float one_over_n)
{
    float sum = 0.0f;
    for (int32_t i = 0; i < n; i++)
        sum = sum + x[i] * x[i];
    return sum * one_over_n;
}

int32_t rmsnorm(const float *x, int32_t x_stride, const float *w, float *y, int32_t y_stride, int32_t rows,
                int32_t cols)
{
    if (rows < 0 || cols < 1 || x_stride < cols || y_stride < cols)
        return EMU_BAD_ARGUMENT;
    float one_over_cols = 1.0f / (float)cols;
    for (int32_t r = 0; r < rows; r++, x += x_stride, y += y_stride) {
        float inv = inverse_root(mean_square_of(x, cols, one_over_cols));
        for (int32_t c = 0; c < cols; c++)
            y[c] = (x[c] * inv) * w[c];
    }
    return EMU_OK;
}
