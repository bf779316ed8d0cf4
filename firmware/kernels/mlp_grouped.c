/* mlp_grouped: two int8 linear layers with GELU between them, group by group. numerics.md section 10. */
#include "linear_q8.h"
#include "linear_w8a8.h"
#include "mlp_grouped.h"

/* Where the pieces of the scratch memory lie; a multiple of 16 bytes each but the last two. */
struct mlp_scratch {
    int8_t *x;
    int8_t *hidden;
    float *strip;
    uint8_t *sums;
    float *sx;
    float *sh;
};

static struct mlp_scratch split_scratch(uint8_t *scratch, int32_t rows, int32_t padded, int32_t group)
{
    struct mlp_scratch s;
    s.x = (int8_t *)scratch;
    s.hidden = s.x + rows * padded;
    s.strip = (float *)(void *)(s.hidden + rows * group);
    s.sums = (uint8_t *)(s.strip + rows * group);
    s.sx = (float *)(void *)(s.sums + EMU_LINEAR_Q8_SCRATCH(rows));
    s.sh = s.sx + rows;
    return s;
}

void mlp_start(const float *bias, int32_t outs, int32_t rows, float *y, int32_t y_stride)
{
    for (int32_t r = 0; r < rows; r++)
        for (int32_t o = 0; o < outs; o++)
            y[r * y_stride + o] = bias[o];
}

int32_t mlp_hidden(const int8_t *x, int32_t x_stride, const float *sx, int32_t rows, const int8_t *w,
                   int32_t w_stride, const float *sw, const float *b, int32_t cols, int32_t group, const float *value,
                   const float *slope, int8_t *hidden, float *sh, float *strip, uint8_t *sums, int32_t *bad)
{
    int32_t status = linear_q8(x, x_stride, sx, rows, w, w_stride, sw, b, group, cols, strip, group, sums);
    if (status != EMU_OK)
        return status;
    gelu_in_place(strip, rows * group, value, slope);
    return quantize_row_s8(strip, group, hidden, group, sh, rows, group, bad);
}

static int32_t check_mlp(int32_t x_stride, int32_t rows, const int8_t *w1, int32_t w1_stride, const int8_t *w2,
                         int32_t w2_stride, int32_t cols, int32_t hidden, int32_t outs, int32_t group,
                         int32_t y_stride, const uint8_t *scratch)
{
    if (rows < 0 || cols < 1 || hidden < 1 || outs < 0 || x_stride < cols || w1_stride < cols || w2_stride < hidden ||
        y_stride < outs || group < EMU_VECTOR_BYTES || group % EMU_VECTOR_BYTES != 0 || hidden % group != 0)
        return EMU_BAD_ARGUMENT;
    if (cols > EMU_MAX_COLUMNS || hidden > EMU_MAX_COLUMNS)
        return EMU_TOO_MANY_COLUMNS;
    int32_t status = check_aligned(scratch, 0, w1, w1_stride);
    return status != EMU_OK ? status : check_aligned(scratch, 0, w2, w2_stride);
}

int32_t mlp_grouped(const float *x, int32_t x_stride, int32_t rows, const int8_t *w1, int32_t w1_stride,
                    const float *sw1, const float *b1, const int8_t *w2, int32_t w2_stride, const float *sw2,
                    const float *b2, int32_t cols, int32_t hidden, int32_t outs, int32_t group, const float *value,
                    const float *slope, float *y, int32_t y_stride, uint8_t *scratch, int32_t *bad)
{
    int32_t status =
        check_mlp(x_stride, rows, w1, w1_stride, w2, w2_stride, cols, hidden, outs, group, y_stride, scratch);
    if (status != EMU_OK)
        return status;
    int32_t padded = EMU_PAD16(cols);
    struct mlp_scratch s = split_scratch(scratch, rows, padded, group);
    status = quantize_padded(x, x_stride, s.x, padded, s.sx, rows, cols, bad);
    if (status != EMU_OK)
        return status;
    mlp_start(b2, outs, rows, y, y_stride);
    for (int32_t h = 0; h < hidden; h += group) {
        status = mlp_hidden(s.x, padded, s.sx, rows, w1 + h * w1_stride, w1_stride, sw1 + h, b1 + h, cols, group,
                            value, slope, s.hidden, s.sh, s.strip, s.sums, bad);
        if (status != EMU_OK)
            return status;
        accumulate_q8(s.hidden, group, s.sh, rows, w2 + h, w2_stride, sw2, outs, group, y, y_stride, s.sums);
    }
    return EMU_OK;
}
