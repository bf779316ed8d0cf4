/* exp_array. numerics.md section 3. */
#include "emu_kernels.h"
#include "exp.h"

void exp_array(const float *x, float *y, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        y[i] = exp_f32(x[i]);
}
