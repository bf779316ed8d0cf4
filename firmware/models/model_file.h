/* The bytes of a model file while it is opened. models.md section 4. */
#ifndef EMU_MODEL_FILE_H
#define EMU_MODEL_FILE_H

#include "model_rules.h"
#include "model_tensors.h"

#define MODEL_NAME_BYTES 40
#define TINYLM_TEXT_ID TINYLM_BYTES

struct file_entry {
    char name[MODEL_NAME_BYTES];
    uint8_t dtype;
    uint8_t ndim;
    uint16_t group;
    uint32_t shape[4];
    uint32_t row_bytes;
    uint32_t offset;
    uint32_t length;
    uint32_t crc;
    uint8_t unused[4];
};

struct opening {
    const uint8_t *file;
    uint32_t bytes;
    uint32_t count;
    const struct file_entry *entries;
    struct emu_model *model;
};

struct tensor_size {
    uint32_t rows;
    uint32_t cols;
    uint32_t row_bytes;
};

struct tensor_size tensor_size(const struct tensor_rule *rule, const struct emu_model *model,
                               const struct file_entry *entry);
/* Fills *error; returns status 5. */
int32_t refuse(struct emu_model_error *error, uint32_t reason, uint32_t tensor, uint32_t row, uint32_t column);
/* Gaps, CRCs and contents of all tensors, in the order of the index. */
int32_t check_contents(const struct opening *open, struct emu_model_error *error);

#endif
