/* gelu_array and silu_array. numerics.md section 7. */
#include "activation.h"
#include "emu_kernels.h"

void gelu_array(const float *x, float *y, int32_t n, const float *value, const float *slope)
{
    for (int32_t i = 0; i < n; i++)
        y[i] = gelu_f32(x[i], value, slope);
}

void silu_array(const float *x, float *y, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        y[i] = silu_f32(x[i]);
}
