/* Pieces of the quantizers. numerics.md section 8. */
#ifndef EMU_QUANTIZE_H
#define EMU_QUANTIZE_H

#include "rne.h"

/* max |x[i]| as bits, 0 when n is 0; at least F32_INFINITY_BITS when an element is not finite. */
static inline uint32_t max_magnitude(const float *x, int32_t n)
{
    uint32_t top = 0;
    for (int32_t i = 0; i < n; i++) {
        uint32_t magnitude = f32_magnitude(x[i]);
        top = magnitude > top ? magnitude : top;
    }
    return top;
}

/* q[i] = rne(x[i] * factor); the caller keeps |x[i] * factor| <= 127. */
static inline void quantize_scaled(const float *x, float factor, int8_t *q, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        q[i] = (int8_t)rne(x[i] * factor);
}

/* The clamp comes before rne, which is exact only up to 2^22; NaN becomes -127. */
static inline int8_t quantize_clamped(float x, float inv_scale)
{
    float t = x * inv_scale;
    t = (t > -127.0f) ? t : -127.0f;
    t = (t < 127.0f) ? t : 127.0f;
    return (int8_t)rne(t);
}

#endif
