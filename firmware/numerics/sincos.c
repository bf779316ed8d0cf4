/* sincos_turn_array and turns_array. numerics.md section 5. */
#include "emu_kernels.h"
#include "sincos.h"

void sincos_turn_array(const float *u, float *sin_u, float *cos_u, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        sincos_f32 value = sincos_turn(u[i]);
        sin_u[i] = value.sin;
        cos_u[i] = value.cos;
    }
}

void turns_array(const float *p, float f, float *sin_u, float *cos_u, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        sincos_f32 value = turns(p[i], f);
        sin_u[i] = value.sin;
        cos_u[i] = value.cos;
    }
}
