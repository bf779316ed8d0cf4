/* Weight codes that a model file may not contain. numerics.md section 8. */
#ifndef EMU_MODEL_CODES_H
#define EMU_MODEL_CODES_H

#include "model_file.h"

/* Fields of a weight type: how many bits, which value is forbidden, which one fills rows up. */
struct code_kind {
    uint32_t bits;
    uint32_t forbidden;
    uint32_t neutral;
};

/* column: of the weight; for padding the byte of the row. */
struct code_place {
    uint32_t row;
    uint32_t column;
};

struct code_kind code_kind(uint32_t dtype);
/* The first forbidden code, row by row: 1 and its place, or 0. */
int find_forbidden(const struct code_kind *kind, const uint8_t *data, const struct tensor_size *size,
                   struct code_place *place);
int find_padding(const struct code_kind *kind, const uint8_t *data, const struct tensor_size *size,
                 struct code_place *place);

#endif
