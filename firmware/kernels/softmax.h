/* One row of softmax to int8. numerics.md section 10, attention_s8. */
#ifndef EMU_SOFTMAX_H
#define EMU_SOFTMAX_H

#include "exp.h"

/* The largest of n >= 1 logits; 0 in *finite when one is not finite. */
static inline float largest_logit(const float *l, int32_t n, int32_t *finite)
{
    float m = l[0];
    uint32_t top = 0;
    for (int32_t j = 0; j < n; j++) {
        uint32_t magnitude = f32_magnitude(l[j]);
        top = magnitude > top ? magnitude : top;
        m = l[j] > m ? l[j] : m;
    }
    *finite = top < F32_INFINITY_BITS;
    return m;
}

/* o[j] = rne(exp(l[j] - m) * 127), zeros up to `padded`; returns the sum of the exponentials. The largest is exactly
 * 1, so no second pass scales them. */
static inline float softmax_codes(const float *l, int32_t n, float m, int8_t *o, int32_t padded)
{
    float sum = 0.0f;
    for (int32_t j = 0; j < n; j++) {
        float r = exp_f32(l[j] - m);
        sum = sum + r;
        o[j] = (int8_t)rne(r * 127.0f);
    }
    for (int32_t j = n; j < padded; j++)
        o[j] = 0;
    return sum;
}

#endif
