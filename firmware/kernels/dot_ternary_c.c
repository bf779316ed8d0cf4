/* Ternary dot product in plain C: the twin of dot_rows_ternary.S. numerics.md section 8. */
#include "dot_checks.h"

static int32_t ternary_weight(const uint8_t *w, int32_t c)
{
    return (w[c >> 2] >> (2 * (c & 3)) & 3) - 1;
}

static int32_t dot_ternary(const int8_t *x, const uint8_t *w, int32_t cols)
{
    int32_t sum = 0;
    for (int32_t c = 0; c < cols; c++)
        sum += x[c] * ternary_weight(w, c);
    return sum;
}

int32_t dot_rows_ternary_c(const int8_t *x, int32_t x_stride, int32_t rows, const uint8_t *w, int32_t cols,
                           int32_t *acc, int32_t acc_stride)
{
    int32_t status = check_rows(x_stride, rows, cols, acc_stride);
    if (status != EMU_OK)
        return status;
    for (int32_t r = 0; r < rows; r++)
        acc[r * acc_stride] = dot_ternary(x + r * x_stride, w, cols);
    return EMU_OK;
}
