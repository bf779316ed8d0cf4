/* Copies of one pixel's channels. */
#ifndef EMU_COPY_TAPS_H
#define EMU_COPY_TAPS_H

#include <stdint.h>

/* to[c] = relu ? max(from[c], 0) : from[c] */
static inline void copy_taps(const int8_t *from, int8_t *to, int32_t n, int32_t relu)
{
    int32_t floor = relu ? 0 : -128;
    for (int32_t c = 0; c < n; c++)
        to[c] = from[c] > floor ? from[c] : (int8_t)floor;
}

/* The same for 16 * vectors bytes; both 16-byte aligned. */
void copy_vectors(const int8_t *from, int8_t *to, int32_t vectors, int32_t relu);

static inline void clear_taps(int8_t *to, int32_t n)
{
    for (int32_t c = 0; c < n; c++)
        to[c] = 0;
}

#endif
