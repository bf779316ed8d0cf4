/* One row of attention weights from integer scores. numerics.md section 10, attention_s8. */
#ifndef EMU_SOFTMAX_ROW_H
#define EMU_SOFTMAX_ROW_H

#include "emu_kernels.h"

/* softmax_row.S reads and writes the fields by their offsets on the chip. */
struct softmax_row {
    int32_t *scores; /* [n] dot products; the logits (float) when it returns */
    int32_t n;       /* >= 1 */
    int32_t padded;  /* of o: n rounded up to 16 */
    int8_t *o;       /* [padded] */
    const float *sk; /* [n] */
    float sq;
    float inv_sqrt_dh;
    float sum; /* out */
};

/* l = (float)score * ((sq * sk) * inv_sqrt_dh); o = rne(exp_f32(l - max) * 127), zeros up to padded; sum of the
 * exponentials. Status 4 when a logit is not finite: o and sum are then untouched. */
int32_t softmax_row(struct softmax_row *row);
int32_t softmax_row_c(struct softmax_row *row);

#endif
