/* Products of square integer matrices. */
#include "bench.h"

static void multiply(const int32_t *a, const int32_t *b, int32_t *c, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < n; j++) {
            uint32_t sum = 0;
            for (uint32_t k = 0; k < n; k++)
                sum += (uint32_t)a[i * n + k] * (uint32_t)b[k * n + j];
            c[i * n + j] = (int32_t)sum;
        }
}

/* The middle bits of the product become the next factor. */
static uint32_t fold(int32_t *a, const int32_t *c, uint32_t count, uint32_t hash)
{
    for (uint32_t i = 0; i < count; i++) {
        a[i] = (int16_t)(c[i] >> 5) + (a[i] >> 3);
        hash = bench_mix(hash, (uint32_t)c[i]);
    }
    return hash;
}

uint32_t bench_matrix(void *work, uint32_t size, uint32_t seed, uint32_t rounds)
{
    uint32_t count = size * size, hash = seed;
    int32_t *a = work, *b = a + count, *c = b + count;
    for (uint32_t i = 0; i < count; i++) {
        a[i] = (int16_t)bench_next(&seed);
        b[i] = (int16_t)bench_next(&seed);
    }
    for (uint32_t round = 0; round < rounds; round++) {
        multiply(a, b, c, size);
        hash = fold(a, c, count, hash);
    }
    return hash;
}
