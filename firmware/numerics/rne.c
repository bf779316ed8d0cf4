/* rne_array. numerics.md section 2. */
#include "emu_kernels.h"
#include "rne.h"

void rne_array(const float *x, int32_t *y, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        y[i] = rne(x[i]);
}
