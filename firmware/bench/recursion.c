/* Calls and nothing else: Fibonacci numbers, and Ackermann's function, which goes deep. */
#include "bench.h"

/* GCC would unroll the recursion into itself, ten levels deep. */
#define A_REAL_CALL __attribute__((noinline))

A_REAL_CALL static uint32_t fibonacci(uint32_t n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

A_REAL_CALL static uint32_t ackermann(uint32_t m, uint32_t n)
{
    if (m == 0)
        return n + 1;
    return ackermann(m - 1, n == 0 ? 1 : ackermann(m, n - 1));
}

uint32_t bench_fibonacci(void *work, uint32_t size, uint32_t seed, uint32_t rounds)
{
    uint32_t *result = work;
    *result = seed;
    for (uint32_t round = 0; round < rounds; round++)
        *result = bench_mix(*result, fibonacci(size));
    return *result;
}

uint32_t bench_ackermann(void *work, uint32_t size, uint32_t seed, uint32_t rounds)
{
    uint32_t *result = work;
    *result = seed;
    for (uint32_t round = 0; round < rounds; round++)
        *result = bench_mix(*result, ackermann(2, size));
    return *result;
}
