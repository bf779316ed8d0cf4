/* The next token: argmax and sampling. models.md section 3, numerics.md section 6. */
#include "emu_model_kernels.h"
#include "exp.h"
#include "random.h"

int32_t argmax_f32(const float *x, int32_t n)
{
    if (n < 1)
        return -1;
    int32_t best = 0;
    for (int32_t i = 1; i < n; i++)
        if (x[i] > x[best])
            best = i;
    return best;
}

/* Element of x with the weight of its exponential: term i of the running sum. */
static float weight(float x, float largest, float one_over_temperature)
{
    return exp_f32((x - largest) * one_over_temperature);
}

int32_t sample_f32(const float *x, int32_t n, float temperature, uint32_t *state)
{
    if (n < 1)
        return -1;
    float m = x[argmax_f32(x, n)], factor = 1.0f / temperature, total = 0.0f, sum = 0.0f;
    for (int32_t i = 0; i < n; i++)
        total = total + weight(x[i], m, factor);
    *state = xorshift32(random_start(*state));
    float u = (float)(*state >> 8) * f32_from_bits(0x33800000u); /* 2^-24 */
    float target = u * total;
    for (int32_t i = 0; i < n; i++) {
        sum = sum + weight(x[i], m, factor);
        if (sum > target)
            return i;
    }
    return n - 1;
}
