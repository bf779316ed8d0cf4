/* On this machine the plain C twins stand in for the vector code. */
#include "copy_taps.h"
#include "emu_model_kernels.h"
#include "int4_rows_job.h"
#include "linear_row.h"
#include "softmax_row.h"

int32_t dot_rows_s8(const int8_t *x, int32_t x_stride, int32_t rows, const int8_t *w, int32_t cols, int32_t *acc,
                    int32_t acc_stride)
{
    return dot_rows_s8_c(x, x_stride, rows, w, cols, acc, acc_stride);
}

int32_t dot_rows_ternary(const int8_t *x, int32_t x_stride, int32_t rows, const uint8_t *w, int32_t cols, int32_t *acc,
                         int32_t acc_stride)
{
    return dot_rows_ternary_c(x, x_stride, rows, w, cols, acc, acc_stride);
}

int32_t dot_groups_int4(const int8_t *x, const uint8_t *w, int32_t cols, int32_t group, int32_t *acc)
{
    return dot_groups_int4_c(x, w, cols, group, acc);
}

void linear_row_q8(const struct linear_row *row)
{
    linear_row_q8_c(row);
}

void copy_vectors(const int8_t *from, int8_t *to, int32_t vectors, int32_t relu)
{
    copy_taps(from, to, 16 * vectors, relu);
}

int32_t softmax_row(struct softmax_row *row)
{
    return softmax_row_c(row);
}

void linear_int4_rows(const struct int4_rows *rows)
{
    int32_t acc[EMU_MAX_COLUMNS / 32 + 1];
    linear_int4_q8_c(rows->x, rows->sx, 16 * rows->vectors, rows->w, rows->w_stride, rows->scale,
                     16 * rows->group_vectors, rows->outs, rows->y, acc);
}
