/* Random words: generator, mixing, histogram, shuffle. */
#include "bench.h"

static uint32_t fmix(uint32_t h)
{
    h ^= h >> 16;
    h *= 0x85EBCA6Bu;
    h ^= h >> 13;
    h *= 0xC2B2AE35u;
    return h ^ (h >> 16);
}

static void shuffle(uint32_t *words, uint32_t size, uint32_t *seed)
{
    for (uint32_t i = size; i > 1; i--) {
        uint32_t j = bench_next(seed) % i, kept = words[i - 1];
        words[i - 1] = words[j];
        words[j] = kept;
    }
}

uint32_t bench_random(void *work, uint32_t size, uint32_t seed, uint32_t rounds)
{
    uint32_t *counts = work, *words = counts + 256, hash = seed;
    for (uint32_t i = 0; i < 256; i++)
        counts[i] = 0;
    for (uint32_t i = 0; i < size; i++)
        words[i] = i;
    for (uint32_t round = 0; round < rounds; round++) {
        for (uint32_t i = 0; i < size; i++) {
            words[i] = fmix(words[i] + bench_next(&seed));
            counts[words[i] >> 24]++;
        }
        shuffle(words, size, &seed);
        for (uint32_t i = 0; i < size; i++)
            hash = (hash << 5 | hash >> 27) ^ words[i];
    }
    return hash;
}
