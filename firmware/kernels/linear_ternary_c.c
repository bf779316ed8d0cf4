/* linear_ternary_c: the plain C twin, for any alignment. numerics.md section 8. */
#include "linear_ternary.h"

int32_t linear_ternary_c(const int8_t *x, int32_t x_stride, int32_t rows, const uint8_t *w, int32_t w_stride,
                         int32_t outs, int32_t cols, float scale, float a_scale, float *y, int32_t y_stride,
                         int32_t *acc)
{
    int32_t status = check_ternary(x_stride, rows, w_stride, outs, cols, y_stride);
    if (status == EMU_OK)
        linear_ternary_rows(dot_rows_ternary_c, x, x_stride, rows, w, w_stride, outs, cols, scale / a_scale, y,
                            y_stride, acc);
    return status;
}
