/* binary16 to binary32, exact. numerics.md section 8. */
#ifndef EMU_HALF_H
#define EMU_HALF_H

#include "bits.h"

/* A subnormal half is a whole number of 2^-24. */
static inline float half_to_float(uint32_t h)
{
    uint32_t sign = (h & 0x8000u) << 16, rest = h & 0x7FFFu;
    if (rest >= 0x7C00u)
        return f32_from_bits(sign | F32_INFINITY_BITS | (rest & 0x3FFu) << 13);
    if (rest < 0x400u)
        return f32_from_bits(sign | f32_bits((float)(int32_t)rest * f32_from_bits(0x33800000u)));
    return f32_from_bits(sign | ((rest << 13) + 0x38000000u));
}

#endif
