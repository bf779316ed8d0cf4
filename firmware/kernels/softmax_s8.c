/* softmax_s8 and quantize_columns_s8: the pieces of attention_s8. numerics.md section 10. */
#include "emu_model_kernels.h"
#include "softmax.h"

int32_t softmax_s8(const float *x, int32_t x_stride, int32_t rows, int32_t cols, int8_t *o, int32_t o_stride,
                   float *sum, int32_t *bad)
{
    if (rows < 0 || cols < 1 || x_stride < cols || o_stride < EMU_PAD16(cols))
        return EMU_BAD_ARGUMENT;
    for (int32_t r = 0; r < rows; r++, x += x_stride, o += o_stride) {
        int32_t finite;
        float m = largest_logit(x, cols, &finite);
        if (!finite) {
            *bad = r;
            return EMU_NOT_FINITE;
        }
        sum[r] = softmax_codes(x, cols, m, o, EMU_PAD16(cols));
    }
    return EMU_OK;
}

int32_t quantize_columns_s8(const float *x, int32_t x_stride, int32_t rows, int32_t cols, int8_t *q, int32_t q_stride,
                            float *scale, float *column, int32_t *bad)
{
    if (rows < 1 || cols < 0 || x_stride < cols || q_stride < EMU_PAD16(rows))
        return EMU_BAD_ARGUMENT;
    for (int32_t c = 0; c < cols; c++, q += q_stride) {
        int32_t ignored;
        for (int32_t r = 0; r < rows; r++)
            column[r] = x[r * x_stride + c];
        if (quantize_row_s8(column, rows, q, q_stride, scale + c, 1, rows, &ignored) != EMU_OK) {
            *bad = c;
            return EMU_NOT_FINITE;
        }
        for (int32_t r = rows; r < EMU_PAD16(rows); r++)
            q[r] = 0;
    }
    return EMU_OK;
}
