/* One weight row against all activation rows: what the int8 linear layers and convolutions consist of. */
#ifndef EMU_LINEAR_ROW_H
#define EMU_LINEAR_ROW_H

#include <stdint.h>

/* y[r * y_stride] = (add ? y[r * y_stride] : b) + (float)dot * (sx[r] * sw), the product first. linear_row_q8.S reads
 * the fields by their offsets on the chip. */
struct linear_row {
    const int8_t *x;
    int32_t x_stride;
    const float *sx;
    int32_t rows; /* >= 1 */
    const int8_t *w;
    int32_t blocks; /* vectors of 16 columns */
    float sw;
    float b;
    float *y;
    int32_t y_stride;
    uint8_t *sums; /* scratch, 8 bytes per row, 8-byte aligned */
    int32_t add;
};

void linear_row_q8(const struct linear_row *row);
void linear_row_q8_c(const struct linear_row *row);

#endif
