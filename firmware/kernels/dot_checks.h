/* What every integer dot product refuses, in this order. numerics.md section 9 and emu_kernels.h. */
#ifndef EMU_DOT_CHECKS_H
#define EMU_DOT_CHECKS_H

#include "emu_kernels.h"

#define EMU_VECTOR_BYTES 16 /* a vector access drops the low 4 address bits without a fault */

static inline int is_misaligned(const void *pointer)
{
    return ((uintptr_t)pointer & (EMU_VECTOR_BYTES - 1)) != 0;
}

/* Sizes only: for kernels that take any alignment. */
static inline int32_t check_rows(int32_t x_stride, int32_t rows, int32_t cols, int32_t acc_stride)
{
    if (rows < 0 || cols < 0 || x_stride < cols || acc_stride < 1)
        return EMU_BAD_ARGUMENT;
    return cols > EMU_MAX_COLUMNS ? EMU_TOO_MANY_COLUMNS : EMU_OK;
}

static inline int32_t check_aligned(const void *x, int32_t x_stride, const void *w, int32_t w_stride)
{
    int32_t strides = (x_stride | w_stride) & (EMU_VECTOR_BYTES - 1);
    return is_misaligned(x) || is_misaligned(w) || strides != 0 ? EMU_MISALIGNED : EMU_OK;
}

#endif
