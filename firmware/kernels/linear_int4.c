/* linear_int4_q8 and linear_int4: one activation row through an int4 layer with vector instructions. numerics.md
 * section 10. */
#include "linear_int4.h"
#include "int4_rows_job.h"
#include "linear_w8a8.h"

static int32_t check_all(const int8_t *x, int32_t cols, const uint8_t *w, int32_t w_stride, int32_t group,
                         int32_t outs)
{
    int32_t status = check_int4(cols, w_stride, group, outs);
    return status != EMU_OK ? status : check_aligned(x, 0, w, w_stride);
}

static void all_rows(const int8_t *x, float sx, int32_t cols, const uint8_t *w, int32_t w_stride,
                     const uint16_t *scale, int32_t group, int32_t outs, float *y, int32_t *acc)
{
    if (cols == 0 || outs == 0 || group % INT4_PAIR != 0) {
        int4_rows_with(dot_groups_int4, x, sx, cols, w, w_stride, scale, group, outs, y, acc);
        return;
    }
    struct int4_rows rows = {
        x,    w,  w_stride, scale, (cols + EMU_VECTOR_BYTES - 1) / EMU_VECTOR_BYTES, group / EMU_VECTOR_BYTES,
        outs, sx, y};
    linear_int4_rows(&rows);
}

int32_t linear_int4_q8(const int8_t *x, float sx, int32_t cols, const uint8_t *w, int32_t w_stride,
                       const uint16_t *scale, int32_t group, int32_t outs, float *y, int32_t *acc)
{
    int32_t status = check_all(x, cols, w, w_stride, group, outs);
    if (status == EMU_OK)
        all_rows(x, sx, cols, w, w_stride, scale, group, outs, y, acc);
    return status;
}

int32_t linear_int4(const float *x, int32_t cols, const uint8_t *w, int32_t w_stride, const uint16_t *scale,
                    int32_t group, int32_t outs, float *y, uint8_t *scratch)
{
    if (cols < 1)
        return EMU_BAD_ARGUMENT;
    int8_t *q = (int8_t *)scratch;
    int32_t status = check_all(q, cols, w, w_stride, group, outs), bad;
    if (status != EMU_OK)
        return status;
    float sx;
    status = quantize_padded(x, cols, q, EMU_PAD16(cols), &sx, 1, cols, &bad);
    if (status == EMU_OK)
        all_rows(q, sx, cols, w, w_stride, scale, group, outs, y, (int32_t *)(void *)(scratch + EMU_PAD16(cols)));
    return status;
}
