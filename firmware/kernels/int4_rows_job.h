/* All rows of an int4 layer against one activation row, for groups of a multiple of 32 columns. numerics.md sections
 * 8 and 10. */
#ifndef EMU_INT4_ROWS_JOB_H
#define EMU_INT4_ROWS_JOB_H

#include <stdint.h>

#define INT4_PAIR 32 /* columns in 16 bytes of codes */

/* y[o] = (sum over groups of (float)dot * (float)scale) * sx. linear_int4_rows.S reads the fields by their offsets on
 * the chip. x, w 16-byte aligned; 16 * vectors bytes of x are read, and whole 16 bytes of the rows of w. */
struct int4_rows {
    const int8_t *x;
    const uint8_t *w;
    int32_t w_stride;
    const uint16_t *scale; /* [outs][groups] */
    int32_t vectors;       /* of 16 columns; >= 1 */
    int32_t group_vectors; /* even */
    int32_t outs;          /* >= 1 */
    float sx;
    float *y;
};

void linear_int4_rows(const struct int4_rows *rows);

#endif
