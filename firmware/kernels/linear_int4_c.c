/* linear_int4_q8_c: the plain C twin, for any alignment. numerics.md section 10. */
#include "linear_int4.h"

int32_t linear_int4_q8_c(const int8_t *x, float sx, int32_t cols, const uint8_t *w, int32_t w_stride,
                         const uint16_t *scale, int32_t group, int32_t outs, float *y, int32_t *acc)
{
    int32_t status = check_int4(cols, w_stride, group, outs);
    if (status == EMU_OK)
        int4_rows_with(dot_groups_int4_c, x, sx, cols, w, w_stride, scale, group, outs, y, acc);
    return status;
}
