/* ReLU, GELU and SiLU. numerics.md sections 1 and 7. */
#ifndef EMU_ACTIVATION_H
#define EMU_ACTIVATION_H

#include "exp.h"

#define GELU_KNOTS 1024

static inline float relu_f32(float x)
{
    return (x > 0.0f) ? x : 0.0f;
}

/* value, slope: the tables of GELU_KNOTS entries that travel in the model file. */
static inline float gelu_f32(float x, const float *value, const float *slope)
{
    if (x != x)
        return x;
    if (x <= -6.0f)
        return 0.0f;
    if (x >= 6.0f)
        return x;
    float p = (x + 6.0f) * 85.25f;
    int32_t i = (int32_t)p;
    if (i > GELU_KNOTS - 2)
        i = GELU_KNOTS - 2;
    return value[i] + slope[i] * (p - (float)i);
}

static inline float silu_f32(float x)
{
    return x / (1.0f + exp_f32(-x));
}

#endif
