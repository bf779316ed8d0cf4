/* conv3x3_s8_c, conv3x3_add_s8_c, conv3x3_f32_c: the plain C twins. numerics.md section 10. */
#include "conv3x3.h"

int32_t conv3x3_s8_c(const int8_t *x, int32_t height, int32_t width, int32_t channels, int32_t up, int32_t relu,
                     float s_in, const int8_t *w, int32_t w_stride, const float *sw, const float *b, int32_t outs,
                     float s_out, int8_t *y, int32_t first, int32_t rows, uint8_t *scratch)
{
    struct conv_input in = {x, height, width, channels, up, relu, s_in, 0};
    struct conv_weights weights = {w, w_stride, sw, b, outs};
    return conv3x3_to_s8(linear_row_q8_c, &in, &weights, 0, 0.0f, s_out, y, first, rows, scratch);
}

int32_t conv3x3_add_s8_c(const int8_t *x, int32_t height, int32_t width, int32_t channels, int32_t up, int32_t relu,
                         float s_in, const int8_t *w, int32_t w_stride, const float *sw, const float *b, int32_t outs,
                         float s_y, float s_out, int8_t *y, int32_t first, int32_t rows, uint8_t *scratch)
{
    struct conv_input in = {x, height, width, channels, up, relu, s_in, 0};
    struct conv_weights weights = {w, w_stride, sw, b, outs};
    return conv3x3_to_s8(linear_row_q8_c, &in, &weights, 1, s_y, s_out, y, first, rows, scratch);
}

int32_t conv3x3_f32_c(const int8_t *x, int32_t height, int32_t width, int32_t channels, int32_t up, int32_t relu,
                      float s_in, const int8_t *w, int32_t w_stride, const float *sw, const float *b, int32_t outs,
                      float *y, int32_t first, int32_t rows, uint8_t *scratch)
{
    struct conv_input in = {x, height, width, channels, up, relu, s_in, 0};
    struct conv_weights weights = {w, w_stride, sw, b, outs};
    return conv3x3_to_f32(linear_row_q8_c, &in, &weights, y, first, rows, scratch);
}
