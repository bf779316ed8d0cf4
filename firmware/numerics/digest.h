/* Terms of the stage digest. numerics.md section 11. */
#ifndef EMU_DIGEST_H
#define EMU_DIGEST_H

#include "bits.h"

static inline uint64_t digest_scramble(uint64_t x)
{
    x ^= x >> 32;
    x *= 0xD6E8FEB86659FD93u;
    x ^= x >> 32;
    x *= 0xD6E8FEB86659FD93u;
    return x ^ (x >> 32);
}

/* mix(i, w): the term of element i with bits w. */
static inline uint64_t digest_mix(uint32_t i, uint32_t w)
{
    return digest_scramble((((uint64_t)i << 32) | w) + 0x9E3779B97F4A7C15u);
}

static inline uint32_t digest_bits(float x)
{
    return x != x ? F32_NAN_BITS : f32_bits(x);
}

#endif
