/* int4 group dot products in plain C: the twin of dot_groups_int4.S. numerics.md section 8. */
#include "dot_checks.h"

/* Even columns in the low nibble, two's complement. */
static int32_t int4_weight(const uint8_t *w, int32_t c)
{
    int32_t nibble = w[c >> 1] >> (4 * (c & 1)) & 15;
    return (nibble ^ 8) - 8;
}

static int32_t dot_int4(const int8_t *x, const uint8_t *w, int32_t first, int32_t end)
{
    int32_t sum = 0;
    for (int32_t c = first; c < end; c++)
        sum += x[c] * int4_weight(w, c);
    return sum;
}

int32_t dot_groups_int4_c(const int8_t *x, const uint8_t *w, int32_t cols, int32_t group, int32_t *acc)
{
    if (cols < 0 || group < 1 || group % EMU_VECTOR_BYTES != 0)
        return EMU_BAD_ARGUMENT;
    if (cols > EMU_MAX_COLUMNS)
        return EMU_TOO_MANY_COLUMNS;
    for (int32_t first = 0; first < cols; first += group) {
        int32_t end = cols - first < group ? cols : first + group;
        *acc++ = dot_int4(x, w, first, end);
    }
    return EMU_OK;
}
