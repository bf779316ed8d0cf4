/* All places of a pattern in a text: the plain way and Horspool's, which must agree. */
#include "bench.h"

#define LONGEST 16

static uint32_t plain(const uint8_t *text, uint32_t size, const uint8_t *pattern, uint32_t length)
{
    uint32_t places = 0;
    for (uint32_t at = 0; at + length <= size; at++) {
        uint32_t i = 0;
        while (i < length && text[at + i] == pattern[i])
            i++;
        places = bench_mix(places, i == length ? at : places);
    }
    return places;
}

static uint32_t horspool(
    const uint8_t *text, uint32_t size, const uint8_t *pattern, uint32_t length, uint32_t *shifts)
{
    uint32_t places = 0;
    for (uint32_t i = 0; i < 256; i++)
        shifts[i] = length;
    for (uint32_t i = 0; i + 1 < length; i++)
        shifts[pattern[i]] = length - 1 - i;
    for (uint32_t at = 0; at + length <= size; at += shifts[text[at + length - 1]]) {
        uint32_t i = length;
        while (i > 0 && text[at + i - 1] == pattern[i - 1])
            i--;
        places += i == 0;
    }
    return places;
}

/* Half of the patterns are taken from the text. */
static uint32_t choose(const uint8_t *text, uint32_t size, uint8_t *pattern, uint32_t *seed)
{
    uint32_t length = 1 + (bench_next(seed) & (LONGEST - 1));
    uint32_t at = bench_next(seed) % (size - length + 1), is_taken = bench_next(seed) & 1;
    for (uint32_t i = 0; i < length; i++)
        pattern[i] = is_taken ? text[at + i] : (uint8_t)('a' + (bench_next(seed) & 3));
    return length;
}

uint32_t bench_search(void *work, uint32_t size, uint32_t seed, uint32_t rounds)
{
    uint32_t *shifts = work, hash = seed;
    uint8_t *text = (uint8_t *)(shifts + 256), *pattern = text + size;
    for (uint32_t i = 0; i < size; i++)
        text[i] = (uint8_t)('a' + (bench_next(&seed) & 3));
    for (uint32_t round = 0; round < rounds; round++) {
        uint32_t length = choose(text, size, pattern, &seed);
        hash = bench_mix(hash, plain(text, size, pattern, length));
        hash = bench_mix(hash, horspool(text, size, pattern, length, shifts));
    }
    return hash;
}
