/* fmix32_array, xorshift32_array and normal_array. numerics.md section 6. */
#include "random.h"
#include "emu_kernels.h"

void fmix32_array(const uint32_t *x, uint32_t *y, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        y[i] = fmix32(x[i]);
}

void xorshift32_array(uint32_t *state, uint32_t *y, int32_t n)
{
    uint32_t s = random_start(*state);
    for (int32_t i = 0; i < n; i++) {
        s = xorshift32(s);
        y[i] = s;
    }
    *state = s;
}

void normal_array(uint32_t *state, float *y, int32_t n)
{
    uint32_t s = random_start(*state);
    for (int32_t i = 0; i < n; i += 2) {
        normal_f32 pair = normal_pair(&s);
        y[i] = pair.z0;
        if (n - i > 1)
            y[i + 1] = pair.z1;
    }
    *state = s;
}
