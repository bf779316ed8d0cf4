/* linear_q8 and accumulate_q8: int8 linear layers over quantized rows with vector instructions. numerics.md
 * section 10. */
#include "linear_q8.h"

int32_t linear_q8(const int8_t *x, int32_t x_stride, const float *sx, int32_t rows, const int8_t *w, int32_t w_stride,
                  const float *sw, const float *b, int32_t outs, int32_t cols, float *y, int32_t y_stride,
                  uint8_t *scratch)
{
    return linear_q8_with(linear_row_q8, x, x_stride, sx, rows, w, w_stride, sw, b, outs, cols, y, y_stride, scratch,
                          0);
}

int32_t accumulate_q8(const int8_t *x, int32_t x_stride, const float *sx, int32_t rows, const int8_t *w,
                      int32_t w_stride, const float *sw, int32_t outs, int32_t cols, float *y, int32_t y_stride,
                      uint8_t *scratch)
{
    return linear_q8_with(linear_row_q8, x, x_stride, sx, rows, w, w_stride, sw, 0, outs, cols, y, y_stride, scratch,
                          1);
}
