/* What the files of each kind consist of. */
#ifndef EMU_MODEL_RULES_H
#define EMU_MODEL_RULES_H

#include "emu_models.h"

enum file_dtype { FILE_F32, FILE_S8, FILE_U8, FILE_S32, FILE_F16, FILE_INT4, FILE_TERNARY };

/* How the contents of a tensor are looked at. */
enum content_rule {
    CONTENT_PLAIN,
    CONTENT_SCALE, /* not negative */
    CONTENT_TABLE, /* the one with this CRC */
    CONTENT_WORDS,
    CONTENT_START,
    CONTENT_BYTES,
};

/* A # in the name is the number of the block. rows 0: a vector. A size of VARIABLE comes from the file. */
struct tensor_rule {
    const char *name;
    uint8_t dtype;
    uint8_t content;
    uint16_t group;
    uint16_t rows;
    uint16_t cols;
    uint32_t table_crc;
};

#define VARIABLE 0xFFFF

/* Tensors that come `repeat` times, block after block. */
struct rule_section {
    const struct tensor_rule *rules;
    uint16_t count;
    uint16_t repeat;
};

/* The sections of a kind, ended by count 0. NULL for a kind that does not exist. */
const struct rule_section *model_sections(uint32_t kind);
/* Rule of tensor id and its block number; NULL beyond the last. */
const struct tensor_rule *model_rule(uint32_t kind, uint32_t id, uint32_t *block);
/* Number of the tensor with this name, -1 when there is none. */
int32_t model_find(uint32_t kind, const char *name);
uint32_t model_tensor_count(uint32_t kind);

#endif
