/* int8 dot products in plain C: the twins of dot_rows_s8.S and gemm_s8.S. numerics.md section 9. */
#include "dot_checks.h"

/* Unsigned sums: wrapping is what the low 32 bits of the vector accumulator do. */
static int32_t dot_s8(const int8_t *x, const int8_t *w, int32_t cols)
{
    uint32_t sum = 0;
    for (int32_t c = 0; c < cols; c++)
        sum += (uint32_t)(x[c] * w[c]);
    return (int32_t)sum;
}

int32_t dot_rows_s8_c(const int8_t *x, int32_t x_stride, int32_t rows, const int8_t *w, int32_t cols,
                      int32_t *acc, int32_t acc_stride)
{
    int32_t status = check_rows(x_stride, rows, cols, acc_stride);
    if (status == EMU_OK)
        status = check_aligned(x, x_stride, w, 0);
    if (status != EMU_OK)
        return status;
    for (int32_t r = 0; r < rows; r++)
        acc[r * acc_stride] = dot_s8(x + r * x_stride, w, cols);
    return EMU_OK;
}

static int32_t check_gemm(const int8_t *x, int32_t x_stride, int32_t rows, const int8_t *w, int32_t w_stride,
                          int32_t outs, int32_t cols, int32_t acc_stride)
{
    if (outs < 0 || w_stride < cols || acc_stride < outs)
        return EMU_BAD_ARGUMENT;
    int32_t status = check_rows(x_stride, rows, cols, acc_stride < 1 ? 1 : acc_stride);
    return status != EMU_OK ? status : check_aligned(x, x_stride, w, w_stride);
}

int32_t gemm_s8_c(const int8_t *x, int32_t x_stride, int32_t rows, const int8_t *w, int32_t w_stride,
                  int32_t outs, int32_t cols, int32_t *acc, int32_t acc_stride)
{
    int32_t status = check_gemm(x, x_stride, rows, w, w_stride, outs, cols, acc_stride);
    if (status != EMU_OK)
        return status;
    for (int32_t r = 0; r < rows; r++)
        for (int32_t o = 0; o < outs; o++)
            acc[r * acc_stride + o] = dot_s8(x + r * x_stride, w + o * w_stride, cols);
    return EMU_OK;
}
