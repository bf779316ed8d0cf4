/* int4 linear layers, with the dot product of one row as a parameter. numerics.md sections 8 and 10. */
#ifndef EMU_LINEAR_INT4_H
#define EMU_LINEAR_INT4_H

#include "dot_checks.h"
#include "emu_model_kernels.h"
#include "half.h"

typedef int32_t int4_dot(const int8_t *x, const uint8_t *w, int32_t cols, int32_t group, int32_t *acc);

static inline int32_t check_int4(int32_t cols, int32_t w_stride, int32_t group, int32_t outs)
{
    if (cols < 0 || outs < 0 || group < EMU_VECTOR_BYTES || group % EMU_VECTOR_BYTES != 0 ||
        w_stride < (int32_t)(((uint32_t)cols + 1) / 2))
        return EMU_BAD_ARGUMENT;
    return cols > EMU_MAX_COLUMNS ? EMU_TOO_MANY_COLUMNS : EMU_OK;
}

static inline __attribute__((always_inline)) void int4_rows_with(int4_dot *dot, const int8_t *x, float sx,
                                                                 int32_t cols, const uint8_t *w, int32_t w_stride,
                                                                 const uint16_t *scale, int32_t group, int32_t outs,
                                                                 float *y, int32_t *acc)
{
    int32_t groups = (cols + group - 1) / group;
    for (int32_t o = 0; o < outs; o++, w += w_stride) {
        dot(x, w, cols, group, acc);
        float sum = 0.0f;
        for (int32_t g = 0; g < groups; g++)
            sum = sum + (float)acc[g] * half_to_float(*scale++);
        y[o] = sum * sx;
    }
}

#endif
