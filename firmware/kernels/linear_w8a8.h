/* Rows quantized with their padding. */
#ifndef EMU_LINEAR_W8A8_H
#define EMU_LINEAR_W8A8_H

#include "emu_model_kernels.h"

/* quantize_row_s8 with q[r][cols .. EMU_PAD16(cols)-1] = 0 for all rows. q_stride >= EMU_PAD16(cols). */
int32_t quantize_padded(const float *x, int32_t x_stride, int8_t *q, int32_t q_stride, float *scale, int32_t rows,
                        int32_t cols, int32_t *bad);

#endif
