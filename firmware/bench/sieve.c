/* Prime numbers below a limit, by crossing out multiples. */
#include "bench.h"

static uint32_t sieve(uint8_t *is_prime, uint32_t size)
{
    for (uint32_t i = 0; i < size; i++)
        is_prime[i] = i > 1;
    for (uint32_t p = 2; p * p < size; p++)
        if (is_prime[p])
            for (uint32_t multiple = p * p; multiple < size; multiple += p)
                is_prime[multiple] = 0;
    uint32_t count = 0;
    for (uint32_t i = 0; i < size; i++)
        count += is_prime[i];
    return count;
}

/* The limit differs from round to round. */
uint32_t bench_sieve(void *work, uint32_t size, uint32_t seed, uint32_t rounds)
{
    uint32_t hash = seed;
    for (uint32_t round = 0; round < rounds; round++)
        hash = bench_mix(hash, sieve(work, size - (bench_next(&seed) & 15)));
    return hash;
}
