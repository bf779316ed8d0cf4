/* Sine and cosine of an angle in turns. numerics.md section 5. */
#ifndef EMU_SINCOS_H
#define EMU_SINCOS_H

#include "rne.h"

typedef struct {
    float sin;
    float cos;
} sincos_f32;

static inline float sin_polynomial(float r, float w)
{
    float p = f32_from_bits(0xC293D4F9u) * w + f32_from_bits(0x42A32227u);
    p = p * w + f32_from_bits(0xC2255DD2u);
    return r * (p * w + f32_from_bits(0x40C90FDBu));
}

static inline float cos_polynomial(float w)
{
    float p = f32_from_bits(0xC2A6D5F0u) * w + f32_from_bits(0x4281D63Fu);
    p = p * w + f32_from_bits(0xC19DE9C7u);
    return p * w + 1.0f;
}

/* u in [0, 1). */
static inline sincos_f32 sincos_turn(float u)
{
    int32_t k = rne(4.0f * u);
    float r = u - (float)k * 0.25f;
    float w = r * r;
    float s = sin_polynomial(r, w);
    float c = cos_polynomial(w);
    float sine = (k & 1) ? c : s;
    float cosine = (k & 1) ? s : c;
    return (sincos_f32){.sin = (k & 2) ? -sine : sine, .cos = ((k + 1) & 2) ? -cosine : cosine};
}

/* The angle p*f in turns, 0 <= p*f < 2^23. */
static inline sincos_f32 turns(float p, float f)
{
    float t = p * f;
    return sincos_turn(t - (float)(int32_t)t);
}

#endif
