#pragma once

#include <stdint.h>

/* Quantization of one layer, as a converter writes it: real_scale = multiplier * 2^(shift - 31) for each output. */
typedef struct {
    const int32_t *multiplier;
    const int8_t *shift;
    int32_t input_offset, output_offset;
    int8_t lowest, highest;
} requant_t;

int32_t requantize(int32_t sum, int32_t multiplier, int shift);

/* output[r] = clamp(requantize(bias[r] + sum_c weights[r][c] * (input[c] + input_offset)) + output_offset).
 * Returns 0, or -1 when there is no memory for the sums. */
int dense_s8(const int8_t *input, const int8_t *weights, const int32_t *bias, const requant_t *requant, int rows, int cols,
             int8_t *output);
