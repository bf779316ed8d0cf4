/* Splitting a finite, non-zero float and rounding one together again. numerics.md section 1. */
#ifndef EMU_SIGNIFICAND_H
#define EMU_SIGNIFICAND_H

#include "bits.h"

/* The magnitude bits * 2^(exponent - 23), with bit 23 of bits set. */
typedef struct {
    uint32_t bits;
    int32_t exponent;
} significand;

/* Zero, infinity or NaN. */
static inline int is_special(float x)
{
    return f32_magnitude(x) - 1u >= F32_INFINITY_BITS - 1u;
}

static inline significand split_f32(float x)
{
    uint32_t fraction = f32_bits(x) & 0x007FFFFFu;
    int32_t field = (int32_t)(f32_magnitude(x) >> 23);
    if (field != 0)
        return (significand){.bits = fraction | 0x00800000u, .exponent = field - 127};
    int32_t shift = __builtin_clz(fraction) - 8;
    return (significand){.bits = fraction << shift, .exponent = -126 - shift};
}

/* v * 2^-drop to an integer, half to even. The lowest bit of v is sticky; 2 <= drop <= 31. */
static inline uint32_t drop_rounded(uint32_t v, int32_t drop)
{
    uint32_t kept = v >> drop;
    uint32_t below_half = (1u << (drop - 1)) - 1u + (kept & 1u);
    return (v + below_half) >> drop;
}

/* v * 2^(exponent - 25) with v in [2^25, 2^26), its lowest bit sticky, to nearest, ties to even. */
static inline float join_f32(uint32_t sign, int32_t exponent, uint32_t v)
{
    if (exponent > 127)
        return f32_from_bits(sign | F32_INFINITY_BITS);
    if (exponent >= -126)
        return f32_from_bits(sign + ((uint32_t)(exponent + 126) << 23) + drop_rounded(v, 2));
    int32_t drop = -124 - exponent;
    return f32_from_bits(sign | drop_rounded(v, drop > 27 ? 27 : drop));
}

#endif
