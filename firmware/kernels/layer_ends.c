/* Where a network begins and ends in float32: embeddings, pooling, the float head, patches, RGB. models.md,
 * numerics.md section 10. */
#include "emu_model_kernels.h"
#include "rne.h"

int32_t pool_rows(const float *x, int32_t x_stride, int32_t rows, int32_t cols, float *y)
{
    if (rows < 1 || cols < 0 || x_stride < cols)
        return EMU_BAD_ARGUMENT;
    float one_over_rows = 1.0f / (float)rows;
    for (int32_t c = 0; c < cols; c++) {
        float sum = 0.0f;
        for (int32_t r = 0; r < rows; r++)
            sum = sum + x[r * x_stride + c];
        y[c] = sum * one_over_rows;
    }
    return EMU_OK;
}

int32_t linear_f32(const float *x, const float *w, const float *b, int32_t outs, int32_t cols, float *y)
{
    if (outs < 0 || cols < 0)
        return EMU_BAD_ARGUMENT;
    for (int32_t o = 0; o < outs; o++, w += cols) {
        float sum = 0.0f;
        for (int32_t c = 0; c < cols; c++)
            sum = sum + w[c] * x[c];
        y[o] = b[o] + sum;
    }
    return EMU_OK;
}

int32_t embed_rows(const int32_t *ids, int32_t rows, const float *table, int32_t vocabulary, const float *pos,
                   int32_t cols, float *y)
{
    if (rows < 0 || cols < 0)
        return EMU_BAD_ARGUMENT;
    for (int32_t r = 0; r < rows; r++)
        if (ids[r] < 0 || ids[r] >= vocabulary)
            return EMU_BAD_ARGUMENT;
    for (int32_t r = 0; r < rows; r++)
        add_array(table + ids[r] * cols, pos + r * cols, y + r * cols, cols);
    return EMU_OK;
}

/* The place of pixel (y, x), channel 0 among the tokens. */
static int32_t patch_index(int32_t y, int32_t x, int32_t width, int32_t channels, int32_t stride)
{
    return (width / 2 * (y >> 1) + (x >> 1)) * stride + (2 * (y & 1) + (x & 1)) * channels;
}

void patch(const float *z, int32_t height, int32_t width, int32_t channels, float *y, int32_t y_stride)
{
    for (int32_t row = 0; row < height; row++)
        for (int32_t col = 0; col < width; col++)
            for (int32_t c = 0; c < channels; c++)
                y[patch_index(row, col, width, channels, y_stride) + c] = *z++;
}

void unpatch(const float *x, int32_t x_stride, int32_t height, int32_t width, int32_t channels, float *z)
{
    for (int32_t row = 0; row < height; row++)
        for (int32_t col = 0; col < width; col++)
            for (int32_t c = 0; c < channels; c++)
                *z++ = x[patch_index(row, col, width, channels, x_stride) + c];
}

void to_rgb(const float *y, uint8_t *rgb, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        float t = y[i] * 127.5f + 127.5f;
        t = (t > 0.0f) ? t : 0.0f;
        t = (t < 255.0f) ? t : 255.0f;
        rgb[i] = (uint8_t)rne(t);
    }
}
