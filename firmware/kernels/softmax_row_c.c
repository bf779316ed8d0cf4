/* softmax_row_c: the plain C twin of softmax_row.S. numerics.md section 10. */
#include "softmax.h"
#include "softmax_row.h"

union score {
    int32_t dot;
    float logit;
};

int32_t softmax_row_c(struct softmax_row *row)
{
    union score *score = (union score *)(void *)row->scores;
    int32_t finite;
    for (int32_t j = 0; j < row->n; j++)
        score[j].logit = (float)score[j].dot * ((row->sq * row->sk[j]) * row->inv_sqrt_dh);
    float m = largest_logit(&score->logit, row->n, &finite);
    if (!finite)
        return EMU_NOT_FINITE;
    row->sum = softmax_codes(&score->logit, row->n, m, row->o, row->padded);
    return EMU_OK;
}
