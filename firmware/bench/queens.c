/* Ways to place queens on a board so that none attacks another: recursion over sets of columns. */
#include "bench.h"

static uint32_t place(uint32_t all, uint32_t columns, uint32_t left, uint32_t right)
{
    if (columns == all)
        return 1;
    uint32_t ways = 0;
    for (uint32_t free = all & ~(columns | left | right); free != 0; free &= free - 1) {
        uint32_t queen = free & -free;
        ways += place(all, columns | queen, (left | queen) << 1, (right | queen) >> 1);
    }
    return ways;
}

/* Each round forbids another square of the first row. */
uint32_t bench_queens(void *work, uint32_t size, uint32_t seed, uint32_t rounds)
{
    uint32_t *count = work, all = (1u << size) - 1, hash = seed;
    for (uint32_t round = 0; round < rounds; round++) {
        *count = place(all, 0, 1u << (bench_next(&seed) & 7), 0);
        hash = bench_mix(hash, *count);
    }
    return hash;
}
