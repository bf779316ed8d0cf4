/* Softmax of floats with the project's exponential function. */
#include "../numerics/exp.h"
#include "bench.h"

static float largest(const float *x, uint32_t size)
{
    float most = x[0];
    for (uint32_t i = 1; i < size; i++)
        if (x[i] > most)
            most = x[i];
    return most;
}

static void softmax(const float *x, float *out, uint32_t size)
{
    float most = largest(x, size), sum = 0.0f;
    for (uint32_t i = 0; i < size; i++) {
        out[i] = exp_f32(x[i] - most);
        sum = sum + out[i];
    }
    float scale = 1.0f / sum;
    for (uint32_t i = 0; i < size; i++)
        out[i] = out[i] * scale;
}

uint32_t bench_softmax(void *work, uint32_t size, uint32_t seed, uint32_t rounds)
{
    float *x = work, *out = x + size;
    for (uint32_t i = 0; i < size; i++)
        x[i] = (float)(int32_t)bench_next(&seed) * f32_from_bits(0x31000000u);
    uint32_t hash = seed;
    for (uint32_t round = 0; round < rounds; round++) {
        softmax(x, out, size);
        for (uint32_t i = 0; i < size; i++) {
            hash = bench_mix(hash, f32_bits(out[i]));
            x[i] = x[i] - out[i];
        }
    }
    return hash;
}
