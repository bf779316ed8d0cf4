/* Weight codes that a model file may not contain. See model_codes.h. */
#include "model_codes.h"

struct code_kind code_kind(uint32_t dtype)
{
    switch (dtype) {
    case FILE_S8:
        return (struct code_kind){8, 0x80, 0};
    case FILE_INT4:
        return (struct code_kind){4, 8, 0};
    default:
        return (struct code_kind){2, 3, 1};
    }
}

/* A word with all fields equal to `value`. */
static uint32_t repeated(const struct code_kind *kind, uint32_t value)
{
    uint32_t word = value;
    for (uint32_t bits = kind->bits; bits < 32; bits *= 2)
        word |= word << bits;
    return word;
}

static uint32_t code_at(const struct code_kind *kind, const uint8_t *row, uint32_t c)
{
    uint32_t bit = c * kind->bits;
    return row[bit >> 3] >> (bit & 7) & ((1u << kind->bits) - 1);
}

/* A quick look: does any field of the row, padding included, hold the forbidden code? A field of w ^ forbidden is
 * zero then, and borrows show zero fields exactly when there is one. */
static int row_may_be_bad(const uint32_t *row, uint32_t words, uint32_t forbidden, uint32_t low, uint32_t high)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < words; i++) {
        uint32_t w = row[i] ^ forbidden;
        found |= (w - low) & ~w & high;
    }
    return found != 0;
}

int find_forbidden(const struct code_kind *kind, const uint8_t *data, const struct tensor_size *size,
                   struct code_place *place)
{
    uint32_t forbidden = repeated(kind, kind->forbidden), low = repeated(kind, 1), high = low << (kind->bits - 1);
    for (uint32_t r = 0; r < size->rows; r++, data += size->row_bytes) {
        if (!row_may_be_bad((const uint32_t *)(const void *)data, size->row_bytes / 4, forbidden, low, high))
            continue;
        for (uint32_t c = 0; c < size->cols; c++)
            if (code_at(kind, data, c) == kind->forbidden) {
                *place = (struct code_place){r, c};
                return 1;
            }
    }
    return 0;
}

int find_padding(const struct code_kind *kind, const uint8_t *data, const struct tensor_size *size,
                 struct code_place *place)
{
    uint32_t fields = size->row_bytes * 8 / kind->bits;
    for (uint32_t r = 0; r < size->rows; r++, data += size->row_bytes)
        for (uint32_t c = size->cols; c < fields; c++)
            if (code_at(kind, data, c) != kind->neutral) {
                *place = (struct code_place){r, c * kind->bits / 8};
                return 1;
            }
    return 0;
}
