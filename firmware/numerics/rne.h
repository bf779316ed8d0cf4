/* Rounding to integer. numerics.md section 2. */
#ifndef EMU_RNE_H
#define EMU_RNE_H

#include "bits.h"

/* Exact round-half-to-even for |x| <= 2^22; beyond that the formula's own value, wrapping. */
static inline int32_t rne(float x)
{
    return (int32_t)(f32_bits(x + 12582912.0f) - 0x4B400000u);
}

#endif
