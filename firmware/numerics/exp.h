/* exp of a float. numerics.md section 3. */
#ifndef EMU_EXP_H
#define EMU_EXP_H

#include "rne.h"

static inline float exp_f32(float x)
{
    if (x != x)
        return x;
    if (x < -87.0f)
        return 0.0f;
    if (x > 88.0f)
        x = 88.0f;
    float t = x * f32_from_bits(0x3FB8AA3Bu); /* log2 e */
    int32_t n = rne(t);
    float f = t - (float)n;
    float p = f32_from_bits(0x3D61512Eu) * f + f32_from_bits(0x3E780627u);
    p = p * f + f32_from_bits(0x3F317AFDu);
    p = p * f + 1.0f;
    return f32_from_bits(f32_bits(p) + ((uint32_t)n << 23));
}

#endif
