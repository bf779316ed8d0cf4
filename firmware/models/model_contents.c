/* Opening a model file: what the tensors contain. models.md section 4; the order of the checks: emu_models.h. */
#include "model_codes.h"
#include "model_file.h"
#include "model_words.h"

/* A tensor while it is looked at. */
struct content {
    const uint8_t *data;
    const struct tensor_rule *rule;
    struct tensor_size size;
    uint32_t bytes;
    uint32_t index;
};

static int32_t refuse_element(const struct content *c, uint32_t reason, uint32_t element,
                              struct emu_model_error *error)
{
    return refuse(error, reason, c->index, element / c->size.cols, element % c->size.cols);
}

static int32_t check_f32(const struct content *c, struct emu_model_error *error)
{
    const uint32_t *bits = (const uint32_t *)(const void *)c->data;
    uint32_t n = c->bytes / 4;
    for (uint32_t i = 0; i < n; i++)
        if ((bits[i] & 0x7F800000u) == 0x7F800000u)
            return refuse_element(c, MODEL_NOT_FINITE, i, error);
    if (c->rule->content == CONTENT_SCALE)
        for (uint32_t i = 0; i < n; i++)
            if (bits[i] > 0x80000000u)
                return refuse_element(c, MODEL_NEGATIVE_SCALE, i, error);
    return EMU_OK;
}

static int32_t check_f16(const struct content *c, struct emu_model_error *error)
{
    const uint16_t *bits = (const uint16_t *)(const void *)c->data;
    uint32_t n = c->bytes / 2;
    for (uint32_t i = 0; i < n; i++)
        if ((bits[i] & 0x7C00u) == 0x7C00u)
            return refuse_element(c, MODEL_NOT_FINITE, i, error);
    for (uint32_t i = 0; i < n; i++)
        if (bits[i] > 0x8000u)
            return refuse_element(c, MODEL_NEGATIVE_SCALE, i, error);
    return EMU_OK;
}

static int32_t check_codes(const struct content *c, struct emu_model_error *error)
{
    static const uint8_t reasons[] = {
        [FILE_S8] = MODEL_CODE_S8, [FILE_INT4] = MODEL_CODE_INT4, [FILE_TERNARY] = MODEL_CODE_TERNARY};
    struct code_kind kind = code_kind(c->rule->dtype);
    struct code_place place;
    if (find_forbidden(&kind, c->data, &c->size, &place))
        return refuse(error, reasons[c->rule->dtype], c->index, place.row, place.column);
    if (find_padding(&kind, c->data, &c->size, &place))
        return refuse(error, MODEL_PADDING, c->index, place.row, place.column);
    return EMU_OK;
}

static int32_t check_text(const struct content *c, const struct emu_model *model, struct emu_model_error *error)
{
    int32_t bad = -1;
    if (c->rule->content == CONTENT_WORDS)
        bad = bad_word(c->data, c->size.rows, c->size.cols);
    else if (c->rule->content == CONTENT_START)
        bad = bad_start((const int32_t *)(const void *)c->data, model->word_bytes);
    else if (c->rule->content == CONTENT_BYTES)
        bad = bad_single_bytes(c->data);
    return bad < 0 ? EMU_OK : refuse(error, MODEL_WORDS, c->index, (uint32_t)bad, 0);
}

static int32_t check_tensor(const struct content *c, const struct opening *open, struct emu_model_error *error)
{
    uint32_t crc = crc32_bytes(0, c->data, (int32_t)c->bytes);
    if (crc != open->entries[c->index].crc)
        return refuse(error, MODEL_CRC, c->index, 0, 0);
    if (c->rule->content == CONTENT_TABLE && crc != c->rule->table_crc)
        return refuse(error, MODEL_TABLE_CRC, c->index, 0, 0);
    switch (c->rule->dtype) {
    case FILE_F32:
        return check_f32(c, error);
    case FILE_F16:
        return check_f16(c, error);
    case FILE_U8:
    case FILE_S32:
        return check_text(c, open->model, error);
    default:
        return check_codes(c, error);
    }
}

static int32_t check_gap(const struct opening *open, uint32_t end, uint32_t index, struct emu_model_error *error)
{
    for (uint32_t at = end; at < open->entries[index].offset; at++)
        if (open->file[at] != 0)
            return refuse(error, MODEL_GAP_BYTES, index, 0, at - end);
    return EMU_OK;
}

int32_t check_contents(const struct opening *open, struct emu_model_error *error)
{
    uint32_t end = (uint32_t)((const uint8_t *)(open->entries + open->count) - open->file);
    for (uint32_t i = 0; i < open->count; i++) {
        const struct file_entry *entry = &open->entries[i];
        uint32_t block;
        struct content c = {.data = open->file + entry->offset, .bytes = entry->length, .index = i};
        c.rule = model_rule(open->model->kind, (uint32_t)model_find(open->model->kind, entry->name), &block);
        c.size = tensor_size(c.rule, open->model, entry);
        int32_t status = check_gap(open, end, i, error);
        if (status == EMU_OK)
            status = check_tensor(&c, open, error);
        if (status != EMU_OK)
            return status;
        end = entry->offset + entry->length;
    }
    return EMU_OK;
}
