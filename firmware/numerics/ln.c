/* ln_array. numerics.md section 4. */
#include "emu_kernels.h"
#include "ln.h"

void ln_array(const float *x, float *y, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        y[i] = ln_f32(x[i]);
}
