/* linear_ternary and bitlinear with vector instructions. numerics.md section 8. */
#include "linear_ternary.h"

int32_t linear_ternary(const int8_t *x, int32_t x_stride, int32_t rows, const uint8_t *w, int32_t w_stride,
                       int32_t outs, int32_t cols, float scale, float a_scale, float *y, int32_t y_stride,
                       int32_t *acc)
{
    int32_t status = check_ternary(x_stride, rows, w_stride, outs, cols, y_stride);
    if (status == EMU_OK)
        status = check_aligned(x, x_stride, w, w_stride);
    if (status == EMU_OK)
        linear_ternary_rows(dot_rows_ternary, x, x_stride, rows, w, w_stride, outs, cols, scale / a_scale, y,
                            y_stride, acc);
    return status;
}

int32_t bitlinear(const float *x, int32_t rows, int32_t cols, const uint8_t *w, int32_t w_stride, int32_t outs,
                  float scale, float *y, int32_t y_stride, uint8_t *scratch)
{
    if (rows < 1 || cols < EMU_VECTOR_BYTES || cols % EMU_VECTOR_BYTES != 0)
        return EMU_BAD_ARGUMENT;
    int8_t *q = (int8_t *)scratch;
    int32_t status = check_ternary(cols, rows, w_stride, outs, cols, y_stride);
    if (status == EMU_OK)
        status = check_aligned(q, cols, w, w_stride);
    float a_scale;
    if (status == EMU_OK)
        status = quantize_ternary_s8(x, q, rows * cols, &a_scale);
    if (status == EMU_OK)
        linear_ternary_rows(dot_rows_ternary, q, cols, rows, w, w_stride, outs, cols, scale / a_scale, y, y_stride,
                            (int32_t *)(void *)(scratch + rows * cols));
    return status;
}
