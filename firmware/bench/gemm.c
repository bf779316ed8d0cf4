/* Product of int8 matrices in plain C: 16 rows of activations, 32 rows of weights. */
#include "bench.h"

#define ROWS 16
#define OUTS 32

static void multiply(const int8_t *x, const int8_t *w, int32_t *acc, uint32_t cols)
{
    for (uint32_t r = 0; r < ROWS; r++)
        for (uint32_t o = 0; o < OUTS; o++) {
            int32_t sum = 0;
            for (uint32_t c = 0; c < cols; c++)
                sum += x[r * cols + c] * w[o * cols + c];
            acc[r * OUTS + o] = sum;
        }
}

uint32_t bench_gemm(void *work, uint32_t size, uint32_t seed, uint32_t rounds)
{
    int32_t *acc = work;
    int8_t *x = (int8_t *)(acc + ROWS * OUTS), *w = x + ROWS * size;
    uint32_t hash = seed;
    for (uint32_t i = 0; i < (ROWS + OUTS) * size; i++)
        x[i] = (int8_t)bench_next(&seed);
    for (uint32_t round = 0; round < rounds; round++) {
        multiply(x, w, acc, size);
        for (uint32_t i = 0; i < ROWS * OUTS; i++)
            hash = bench_mix(hash, (uint32_t)acc[i]);
        x[round % (ROWS * size)] = (int8_t)hash;
    }
    return hash;
}
