/* Floats as bit patterns. numerics.md section 1. */
#ifndef EMU_BITS_H
#define EMU_BITS_H

#include <stdint.h>

static inline uint32_t f32_bits(float x)
{
    union { float f; uint32_t u; } pun = {.f = x};
    return pun.u;
}

static inline float f32_from_bits(uint32_t bits)
{
    union { uint32_t u; float f; } pun = {.u = bits};
    return pun.f;
}

/* |x| as an unsigned integer: ordered as the magnitudes are, infinities and NaN at the top. */
static inline uint32_t f32_magnitude(float x)
{
    return f32_bits(x) & 0x7FFFFFFFu;
}

#define F32_INFINITY_BITS 0x7F800000u
#define F32_NAN_BITS 0x7FC00000u /* the one NaN of digests and comparisons */

#endif
