/* binary16 widening and int4 row look-ups. numerics.md section 8. */
#include "emu_model_kernels.h"
#include "half.h"

void half_array(const uint16_t *x, float *y, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        y[i] = half_to_float(x[i]);
}

static float code_at(const uint8_t *w, int32_t c)
{
    int32_t nibble = w[c >> 1] >> (4 * (c & 1)) & 15;
    return (float)((nibble ^ 8) - 8);
}

void int4_row(const uint8_t *w, const uint16_t *scale, int32_t cols, int32_t group, float *y)
{
    if (group < 1)
        return;
    for (int32_t first = 0; first < cols; first += group) {
        int32_t end = cols - first < group ? cols : first + group;
        float factor = half_to_float(*scale++);
        for (int32_t c = first; c < end; c++)
            y[c] = code_at(w, c) * factor;
    }
}
