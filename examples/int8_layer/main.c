#include "layer.h"

static const int8_t weights[2][3] = { { 1, -2, 3 }, { 100, 50, -128 } };
static const int32_t bias[2] = { 10, -10 }, multiplier[2] = { 1 << 30, 1518500250 };
static const int8_t shift[2] = { 0, -3 };
static const requant_t requant = { multiplier, shift, 5, -3, -128, 127 };
static int8_t input[3] = { 1, 2, 3 }, output[2];

void app_main(void) { dense_s8(input, weights[0], bias, &requant, 2, 3, output); }
