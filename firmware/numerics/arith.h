/* Correctly rounded division and square root. numerics.md section 1. */
#ifndef EMU_ARITH_H
#define EMU_ARITH_H

/* What the `/` of C calls on the chip (as __divsf3). */
float div_f32(float a, float b);
/* sqrt(-0) is -0; negative arguments and NaN give the one NaN. */
float sqrt_f32(float x);

#endif
