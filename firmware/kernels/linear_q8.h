/* The int8 linear layers over quantized rows, with the function that does one weight row as a parameter. */
#ifndef EMU_LINEAR_Q8_H
#define EMU_LINEAR_Q8_H

#include "dot_checks.h"
#include "emu_model_kernels.h"
#include "linear_row.h"

#define EMU_INLINE static inline __attribute__((always_inline))

typedef void linear_row_function(const struct linear_row *row);

/* Sizes (1), columns (2), alignment (3) of int8 rows against int8 weight rows with float results. */
static inline int32_t check_linear(const int8_t *x, int32_t x_stride, int32_t rows, const int8_t *w, int32_t w_stride,
                                   int32_t outs, int32_t cols, int32_t y_stride, const uint8_t *scratch)
{
    if (outs < 0 || w_stride < cols || y_stride < outs)
        return EMU_BAD_ARGUMENT;
    int32_t status = check_rows(x_stride, rows, cols, 1);
    if (status != EMU_OK)
        return status;
    return is_misaligned(scratch) ? EMU_MISALIGNED : check_aligned(x, x_stride, w, w_stride);
}

/* All weight rows; row->w, sw, b, y are those of the first one. w_stride in bytes. b may be NULL when row->add. */
EMU_INLINE void linear_rows(struct linear_row *row, int32_t w_stride, const float *sw, const float *b, int32_t outs,
                            linear_row_function *one)
{
    if (row->rows == 0)
        return;
    for (int32_t o = 0; o < outs; o++, row->w += w_stride, row->y++) {
        row->sw = sw[o];
        row->b = row->add ? 0.0f : b[o];
        one(row);
    }
}

EMU_INLINE int32_t linear_q8_with(linear_row_function *one, const int8_t *x, int32_t x_stride, const float *sx,
                                  int32_t rows, const int8_t *w, int32_t w_stride, const float *sw, const float *b,
                                  int32_t outs, int32_t cols, float *y, int32_t y_stride, uint8_t *scratch,
                                  int32_t add)
{
    int32_t status = check_linear(x, x_stride, rows, w, w_stride, outs, cols, y_stride, scratch);
    if (status != EMU_OK)
        return status;
    struct linear_row row = {.x = x,
                             .x_stride = x_stride,
                             .sx = sx,
                             .rows = rows,
                             .w = w,
                             .blocks = (cols + EMU_VECTOR_BYTES - 1) / EMU_VECTOR_BYTES,
                             .y = y,
                             .y_stride = y_stride,
                             .sums = scratch,
                             .add = add};
    linear_rows(&row, w_stride, sw, b, outs, one);
    return EMU_OK;
}

#endif
