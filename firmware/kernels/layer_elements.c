/* Elementwise steps of a layer: sums, products, activations in place, modulation, residuals. models.md, numerics.md
 * sections 1, 7 and 10. */
#include "activation.h"
#include "emu_model_kernels.h"

void add_array(const float *a, const float *b, float *y, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        y[i] = a[i] + b[i];
}

void multiply_array(const float *a, const float *b, float *y, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        y[i] = a[i] * b[i];
}

void scale_array(float *x, int32_t n, float factor)
{
    for (int32_t i = 0; i < n; i++)
        x[i] = x[i] * factor;
}

void relu_in_place(float *x, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        x[i] = relu_f32(x[i]);
}

void silu_in_place(float *x, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        x[i] = silu_f32(x[i]);
}

void gelu_in_place(float *x, int32_t n, const float *value, const float *slope)
{
    for (int32_t i = 0; i < n; i++)
        x[i] = gelu_f32(x[i], value, slope);
}

void modulate(float *y, int32_t y_stride, const float *sh, const float *sc, int32_t rows, int32_t cols)
{
    for (int32_t r = 0; r < rows; r++, y += y_stride)
        for (int32_t c = 0; c < cols; c++)
            y[c] = y[c] * (1.0f + sc[c]) + sh[c];
}

void affine(float *y, int32_t y_stride, const float *w, const float *b, int32_t rows, int32_t cols)
{
    for (int32_t r = 0; r < rows; r++, y += y_stride)
        for (int32_t c = 0; c < cols; c++)
            y[c] = y[c] * w[c] + b[c];
}

void residual_add(float *x, int32_t x_stride, const float *y, int32_t y_stride, int32_t rows, int32_t cols)
{
    for (int32_t r = 0; r < rows; r++, x += x_stride, y += y_stride)
        for (int32_t c = 0; c < cols; c++)
            x[c] = x[c] + y[c];
}

void residual_gated(float *x, int32_t x_stride, const float *y, int32_t y_stride, const float *g, int32_t rows,
                    int32_t cols)
{
    for (int32_t r = 0; r < rows; r++, x += x_stride, y += y_stride)
        for (int32_t c = 0; c < cols; c++)
            x[c] = x[c] + g[c] * y[c];
}

void ple_mix(const float *x, const float *table, float *y, int32_t n, float by, float factor)
{
    for (int32_t i = 0; i < n; i++)
        y[i] = (x[i] + table[i] * by) * factor;
}
