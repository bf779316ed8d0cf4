/* Random numbers of the fuzzers, from a seed: the same on every machine. */
#ifndef FUZZ_RANDOM_H
#define FUZZ_RANDOM_H

#include <stdint.h>

static uint64_t state;

static uint32_t draw(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 16);
}

static uint32_t pick(uint32_t n)
{
    return draw() % n;
}

#endif
