/* div_array and sqrt_array. numerics.md section 1. */
#include "arith.h"
#include "emu_kernels.h"

void div_array(const float *a, const float *b, float *y, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        y[i] = div_f32(a[i], b[i]);
}

void sqrt_array(const float *x, float *y, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        y[i] = sqrt_f32(x[i]);
}
