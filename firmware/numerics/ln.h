/* Natural logarithm for u in (0, 1], normal. numerics.md section 4. */
#ifndef EMU_LN_H
#define EMU_LN_H

#include "bits.h"

static inline float ln_polynomial(float z)
{
    float p = f32_from_bits(0xBDD008C4u) * z + f32_from_bits(0x3E2426F8u);
    p = p * z + f32_from_bits(0xBE2FA2BFu);
    p = p * z + f32_from_bits(0x3E4C091Cu);
    p = p * z + f32_from_bits(0xBE7FD182u);
    return p * z + f32_from_bits(0x3EAAABBFu);
}

static inline float ln_f32(float u)
{
    uint32_t bits = f32_bits(u);
    int32_t e = (int32_t)(bits >> 23) - 127;
    float m = f32_from_bits((bits & 0x007FFFFFu) | 0x3F800000u);
    if (m > f32_from_bits(0x3FB504F3u)) { /* sqrt 2 */
        m = m * 0.5f;
        e = e + 1;
    }
    float z = m - 1.0f;
    float r = z * z;
    float y = (z * r) * ln_polynomial(z);
    y = y - 0.5f * r;
    y = z + y;
    return y + (float)e * f32_from_bits(0x3F317218u); /* ln 2 */
}

#endif
