/* What both versions of the 3x3 convolution share: checks, the neighbours of a row, requantization. numerics.md
 * section 10. */
#include "conv3x3.h"
#include "copy_taps.h"
#include "quantize.h"

int32_t check_conv(const struct conv_input *in, const struct conv_weights *weights, int32_t first, int32_t rows,
                   const uint8_t *scratch)
{
    if (in->height < 1 || in->width < 1 || in->channels < 1 || weights->outs < 1 || (in->up & ~1) != 0 ||
        (in->relu & ~1) != 0 || rows < 0 || first < 0 || first > (in->height << in->up) - rows)
        return EMU_BAD_ARGUMENT;
    if (weights->w_stride / 9 < in->channels)
        return EMU_BAD_ARGUMENT;
    if (9 * in->channels > EMU_MAX_COLUMNS)
        return EMU_TOO_MANY_COLUMNS;
    return check_aligned(scratch, 0, weights->w, weights->w_stride);
}

struct conv_scratch prepare_conv(const struct conv_input *in, uint8_t *scratch)
{
    int32_t width = in->width << in->up, columns = 9 * in->channels, padded = EMU_PAD16(columns);
    struct conv_scratch s = {.taps = (int8_t *)scratch, .sums = scratch + width * padded};
    s.sx = (float *)(void *)(s.sums + EMU_LINEAR_Q8_SCRATCH(width));
    s.strip = s.sx + width;
    for (int32_t x = 0; x < width; x++) {
        s.sx[x] = in->s_in;
        for (int32_t c = columns; c < padded; c++)
            s.taps[x * padded + c] = 0;
    }
    return s;
}

static void copy_pixel(const struct conv_input *in, const int8_t *from, int8_t *to)
{
    if (in->vectors != 0)
        copy_vectors(from, to, in->vectors, in->relu);
    else
        copy_taps(from, to, in->channels, in->relu);
}

/* Three neighbours in one row of the picture, for every pixel; line NULL: a row outside. */
static void gather_line(const struct conv_input *in, const int8_t *line, int8_t *taps, int32_t padded)
{
    int32_t width = in->width << in->up, channels = in->channels;
    for (int32_t x = 0; x < width; x++, taps += padded)
        for (int32_t kx = 0; kx < 3; kx++) {
            int32_t source = x + kx - 1;
            int8_t *to = taps + kx * channels;
            if (line == 0 || source < 0 || source >= width)
                clear_taps(to, channels);
            else
                copy_pixel(in, line + (source >> in->up) * channels, to);
        }
}

void gather_taps(const struct conv_input *in, int32_t row, int8_t *taps)
{
    int32_t height = in->height << in->up, padded = EMU_PAD16(9 * in->channels);
    for (int32_t ky = 0; ky < 3; ky++) {
        int32_t source = row + ky - 1;
        const int8_t *line =
            source < 0 || source >= height ? 0 : in->x + (source >> in->up) * in->width * in->channels;
        gather_line(in, line, taps + 3 * ky * in->channels, padded);
    }
}

void requantize_row(const float *strip, int8_t *y, int32_t n, int32_t add, float s_y, float s_out)
{
    float inv_scale = 1.0f / s_out;
    if (!add)
        for (int32_t i = 0; i < n; i++)
            y[i] = quantize_clamped(strip[i], inv_scale);
    else
        for (int32_t i = 0; i < n; i++)
            y[i] = quantize_clamped(strip[i] + (float)y[i] * s_y, inv_scale);
}
