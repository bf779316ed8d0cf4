/* 3x3 convolution of one output row at a time, with the function that does one weight row as a parameter. numerics.md
 * section 10. */
#ifndef EMU_CONV3X3_H
#define EMU_CONV3X3_H

#include "linear_q8.h"

/* A picture and how it is read. */
struct conv_input {
    const int8_t *x;
    int32_t height; /* as stored */
    int32_t width;
    int32_t channels;
    int32_t up;
    int32_t relu;
    float s_in;
    int32_t vectors; /* whole vectors in a pixel's channels, 0: copy byte by byte */
};

struct conv_weights {
    const int8_t *w;
    int32_t w_stride;
    const float *sw;
    const float *b;
    int32_t outs;
};

/* Pieces of the scratch memory. */
struct conv_scratch {
    int8_t *taps;  /* [out width][EMU_PAD16(9 * channels)] */
    uint8_t *sums; /* 8 bytes per pixel */
    float *sx;     /* [out width]: s_in for every pixel */
    float *strip;  /* [out width][outs] */
};

/* For conv_input.vectors, where vector instructions may be used. */
static inline int32_t vectors_of_pixel(const int8_t *x, int32_t channels)
{
    return is_misaligned(x) || channels % EMU_VECTOR_BYTES != 0 ? 0 : channels / EMU_VECTOR_BYTES;
}

int32_t check_conv(const struct conv_input *in, const struct conv_weights *weights, int32_t first, int32_t rows,
                   const uint8_t *scratch);
/* Splits the scratch memory; writes what is the same for all rows: s_in and the padding of the taps. */
struct conv_scratch prepare_conv(const struct conv_input *in, uint8_t *scratch);
/* The nine neighbours of every pixel of output row `row`, zeros outside the picture. */
void gather_taps(const struct conv_input *in, int32_t row, int8_t *taps);
/* y = quantize_static_s8(strip [+ (float)y * s_y], s_out); s_y is used when add. */
void requantize_row(const float *strip, int8_t *y, int32_t n, int32_t add, float s_y, float s_out);

/* v of output row `row` to y [out width][outs]. */
EMU_INLINE void conv_row(linear_row_function *one, const struct conv_input *in, const struct conv_weights *weights,
                         const struct conv_scratch *s, int32_t row, float *y)
{
    int32_t padded = EMU_PAD16(9 * in->channels);
    gather_taps(in, row, s->taps);
    struct linear_row job = {.x = s->taps,
                             .x_stride = padded,
                             .sx = s->sx,
                             .rows = in->width << in->up,
                             .w = weights->w,
                             .blocks = padded / EMU_VECTOR_BYTES,
                             .y = y,
                             .y_stride = weights->outs,
                             .sums = s->sums,
                             .add = 0};
    linear_rows(&job, weights->w_stride, weights->sw, weights->b, weights->outs, one);
}

EMU_INLINE int32_t conv3x3_to_s8(linear_row_function *one, const struct conv_input *in,
                                 const struct conv_weights *weights, int32_t add, float s_y, float s_out, int8_t *y,
                                 int32_t first, int32_t rows, uint8_t *scratch)
{
    int32_t status = check_conv(in, weights, first, rows, scratch);
    if (status != EMU_OK || rows == 0)
        return status;
    int32_t row_size = (in->width << in->up) * weights->outs;
    struct conv_scratch s = prepare_conv(in, scratch);
    for (int32_t row = first; row < first + rows; row++) {
        conv_row(one, in, weights, &s, row, s.strip);
        requantize_row(s.strip, y + row * row_size, row_size, add, s_y, s_out);
    }
    return EMU_OK;
}

EMU_INLINE int32_t conv3x3_to_f32(linear_row_function *one, const struct conv_input *in,
                                  const struct conv_weights *weights, float *y, int32_t first, int32_t rows,
                                  uint8_t *scratch)
{
    int32_t status = check_conv(in, weights, first, rows, scratch);
    if (status != EMU_OK || rows == 0)
        return status;
    struct conv_scratch s = prepare_conv(in, scratch);
    for (int32_t row = first; row < first + rows; row++)
        conv_row(one, in, weights, &s, row, y + row * (in->width << in->up) * weights->outs);
    return EMU_OK;
}

#endif
