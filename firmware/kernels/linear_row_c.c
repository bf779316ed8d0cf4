/* One weight row in plain C: the twin of linear_row_q8.S. numerics.md sections 9 and 10. */
#include "linear_row.h"

/* Unsigned sums: wrapping is what the low 32 bits of the vector accumulator do. */
static int32_t dot_row(const int8_t *x, const int8_t *w, int32_t cols)
{
    uint32_t sum = 0;
    for (int32_t c = 0; c < cols; c++)
        sum += (uint32_t)(x[c] * w[c]);
    return (int32_t)sum;
}

void linear_row_q8_c(const struct linear_row *row)
{
    for (int32_t r = 0; r < row->rows; r++) {
        int32_t dot = dot_row(row->x + r * row->x_stride, row->w, 16 * row->blocks);
        float product = (float)dot * (row->sx[r] * row->sw);
        float *y = row->y + r * row->y_stride;
        *y = row->add ? *y + product : product + row->b;
    }
}
