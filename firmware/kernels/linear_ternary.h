/* Ternary linear layers over quantized rows, with the dot products of one weight row as a parameter. numerics.md
 * section 8. */
#ifndef EMU_LINEAR_TERNARY_H
#define EMU_LINEAR_TERNARY_H

#include "dot_checks.h"
#include "emu_model_kernels.h"

typedef int32_t ternary_dot(const int8_t *x, int32_t x_stride, int32_t rows, const uint8_t *w, int32_t cols,
                            int32_t *acc, int32_t acc_stride);

static inline int32_t check_ternary(int32_t x_stride, int32_t rows, int32_t w_stride, int32_t outs, int32_t cols,
                                    int32_t y_stride)
{
    if (outs < 0 || y_stride < outs || w_stride < (int32_t)(((uint32_t)cols + 3) / 4))
        return EMU_BAD_ARGUMENT;
    return check_rows(x_stride, rows, cols, 1);
}

static inline __attribute__((always_inline)) void linear_ternary_rows(ternary_dot *dot, const int8_t *x,
                                                                      int32_t x_stride, int32_t rows,
                                                                      const uint8_t *w, int32_t w_stride,
                                                                      int32_t outs, int32_t cols, float factor,
                                                                      float *y, int32_t y_stride, int32_t *acc)
{
    for (int32_t o = 0; o < outs; o++, w += w_stride) {
        dot(x, x_stride, rows, w, cols, acc, 1);
        for (int32_t r = 0; r < rows; r++)
            y[r * y_stride + o] = (float)acc[r] * factor;
    }
}

#endif
