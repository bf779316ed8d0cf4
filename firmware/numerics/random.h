/* Random words and normals. numerics.md section 6. */
#ifndef EMU_RANDOM_H
#define EMU_RANDOM_H

#include "arith.h"
#include "ln.h"
#include "sincos.h"

#define RANDOM_STATE_FOR_ZERO 0x9E3779B9u

static inline uint32_t fmix32(uint32_t h)
{
    h ^= h >> 16;
    h *= 0x85EBCA6Bu;
    h ^= h >> 13;
    h *= 0xC2B2AE35u;
    return h ^ (h >> 16);
}

static inline uint32_t random_start(uint32_t state)
{
    return state ? state : RANDOM_STATE_FOR_ZERO;
}

/* state is never 0; the new state is the output. */
static inline uint32_t xorshift32(uint32_t state)
{
    state ^= state << 13;
    state ^= state >> 17;
    return state ^ (state << 5);
}

typedef struct {
    float z0;
    float z1;
} normal_f32;

/* Consumes two words of *state. */
static inline normal_f32 normal_pair(uint32_t *state)
{
    const float two_to_minus_24 = f32_from_bits(0x33800000u);
    uint32_t a = xorshift32(*state);
    uint32_t b = xorshift32(a);
    *state = b;
    float u1 = (float)((a >> 8) + 1u) * two_to_minus_24;
    float u2 = (float)(b >> 8) * two_to_minus_24;
    float radius = sqrt_f32(-2.0f * ln_f32(u1));
    sincos_f32 angle = sincos_turn(u2);
    return (normal_f32){.z0 = radius * angle.cos, .z1 = radius * angle.sin};
}

#endif
