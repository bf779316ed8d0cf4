/* The pieces of mlp_grouped, for a model that shares them out to two cores. numerics.md section 10. */
#ifndef EMU_MLP_GROUPED_H
#define EMU_MLP_GROUPED_H

#include "emu_model_kernels.h"

/* y[r][o] = bias[o] */
void mlp_start(const float *bias, int32_t outs, int32_t rows, float *y, int32_t y_stride);
/* One group of the hidden layer: w, sw, b at its first row; hidden int8 [rows][group], sh [rows]. strip: scratch
 * float [rows][group]; sums: scratch EMU_LINEAR_Q8_SCRATCH(rows). Status 4: *bad = row. */
int32_t mlp_hidden(const int8_t *x, int32_t x_stride, const float *sx, int32_t rows, const int8_t *w,
                   int32_t w_stride, const float *sw, const float *b, int32_t cols, int32_t group, const float *value,
                   const float *slope, int8_t *hidden, float *sh, float *strip, uint8_t *sums, int32_t *bad);

#endif
