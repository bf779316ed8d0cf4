/* linear_w8a8: float rows through an int8 linear layer. numerics.md section 10. */
#include "linear_w8a8.h"
#include "linear_q8.h"

int32_t quantize_padded(const float *x, int32_t x_stride, int8_t *q, int32_t q_stride, float *scale, int32_t rows,
                        int32_t cols, int32_t *bad)
{
    for (int32_t r = 0; r < rows; r++)
        for (int32_t c = cols; c < EMU_PAD16(cols); c++)
            q[r * q_stride + c] = 0;
    return quantize_row_s8(x, x_stride, q, q_stride, scale, rows, cols, bad);
}

int32_t linear_w8a8(const float *x, int32_t x_stride, int32_t rows, const int8_t *w, int32_t w_stride,
                    const float *sw, const float *b, int32_t outs, int32_t cols, float *y, int32_t y_stride,
                    uint8_t *scratch, int32_t *bad)
{
    if (rows < 0 || cols < 1 || x_stride < cols)
        return EMU_BAD_ARGUMENT;
    if (cols > EMU_MAX_COLUMNS) /* before the padding could overflow */
        return outs < 0 || w_stride < cols || y_stride < outs ? EMU_BAD_ARGUMENT : EMU_TOO_MANY_COLUMNS;
    int32_t q_stride = EMU_PAD16(cols);
    int8_t *q = (int8_t *)scratch;
    uint8_t *sums = scratch + rows * q_stride;
    float *sx = (float *)(void *)(sums + EMU_LINEAR_Q8_SCRATCH(rows));
    int32_t status = check_linear(q, q_stride, rows, w, w_stride, outs, cols, y_stride, scratch);
    if (status == EMU_OK)
        status = quantize_padded(x, x_stride, q, q_stride, sx, rows, cols, bad);
    if (status != EMU_OK)
        return status;
    return linear_q8(q, q_stride, sx, rows, w, w_stride, sw, b, outs, cols, y, y_stride, sums);
}
