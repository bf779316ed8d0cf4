/* Time embedding, RoPE and the step of the sampler. numerics.md section 10. */
#include "emu_model_kernels.h"
#include "sincos.h"

void time_embedding(float t, const float *f, float *y, int32_t half)
{
    float p = t * 1000.0f;
    for (int32_t k = 0; k < half; k++) {
        sincos_f32 angle = turns(p, f[k]);
        y[k] = angle.cos;
        y[half + k] = angle.sin;
    }
}

void rope(float *x, int32_t heads, int32_t dh, int32_t position, const float *f)
{
    int32_t half = dh / 2;
    for (int32_t k = 0; k < half; k++) {
        sincos_f32 angle = turns((float)position, f[k]);
        for (int32_t h = 0; h < heads; h++) {
            float a = x[h * dh + k], b = x[h * dh + half + k];
            x[h * dh + k] = a * angle.cos - b * angle.sin;
            x[h * dh + half + k] = b * angle.cos + a * angle.sin;
        }
    }
}

static float flow_time(int32_t i, int32_t steps)
{
    return 1.0f - (float)i / (float)steps;
}

void flow_step(float *z, const float *vc, const float *vu, int32_t n, float cfg, int32_t step, int32_t steps)
{
    float dt = flow_time(step + 1, steps) - flow_time(step, steps);
    for (int32_t i = 0; i < n; i++) {
        float v = vu[i] + cfg * (vc[i] - vu[i]);
        z[i] = z[i] + dt * v;
    }
}
