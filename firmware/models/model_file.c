/* Opening a model file: header and index. models.md section 4; the order of the checks: emu_models.h. */
#include "model_file.h"
#include "model_rules.h"

#define HEADER_BYTES 64u
#define ENTRY_BYTES 80u
#define CRC_OFFSET 24u
#define MOST_TENSORS 255u
#define MOST_OUTPUTS 4096u
#define NOT_A_TENSOR 0xFFFFFFFFu

struct file_header {
    char magic[8];
    uint16_t version;
    uint16_t kind;
    uint32_t header_bytes;
    uint32_t file_bytes;
    uint32_t count;
    uint32_t crc;
    uint32_t spec_version;
    uint32_t parameters[8];
};

_Static_assert(sizeof(struct file_header) == HEADER_BYTES, "the format");
_Static_assert(sizeof(struct file_entry) == ENTRY_BYTES, "the format");

int32_t refuse(struct emu_model_error *error, uint32_t reason, uint32_t tensor, uint32_t row, uint32_t column)
{
    *error = (struct emu_model_error){reason, tensor, row, column};
    return EMU_BAD_MODEL;
}

static uint32_t identity_fault(const struct file_header *header, uint32_t kind)
{
    static const char magic[8] = {'E', 'M', 'U', 'M', 'O', 'D', 'E', 'L'};
    for (int32_t i = 0; i < 8; i++)
        if (header->magic[i] != magic[i])
            return MODEL_MAGIC;
    if (header->version != 1)
        return MODEL_VERSION;
    if (model_sections(header->kind) == 0 || (kind != 0 && header->kind != kind))
        return MODEL_KIND;
    return header->spec_version != 1 ? MODEL_SPEC_VERSION : MODEL_OK;
}

static uint32_t length_fault(const struct file_header *header, uint32_t size)
{
    if (header->count < 1 || header->count > MOST_TENSORS)
        return MODEL_COUNT;
    if (header->header_bytes != HEADER_BYTES + ENTRY_BYTES * header->count)
        return MODEL_HEADER_LENGTH;
    if (header->file_bytes < header->header_bytes)
        return MODEL_FILE_LENGTH;
    if (size < header->file_bytes)
        return MODEL_TRUNCATED;
    return size > header->file_bytes ? MODEL_TRAILING : MODEL_OK;
}

static uint32_t header_crc(const uint8_t *file, uint32_t bytes)
{
    static const uint8_t zeros[4];
    uint32_t crc = crc32_bytes(0, file, CRC_OFFSET);
    crc = crc32_bytes(crc, zeros, sizeof zeros);
    uint32_t after = CRC_OFFSET + (uint32_t)sizeof zeros;
    return crc32_bytes(crc, file + after, (int32_t)(bytes - after));
}

static uint32_t parameter_fault(const struct file_header *header)
{
    int32_t first_unused = header->kind == EMU_TERNARY ? 1 : 0;
    if (first_unused == 1 && (header->parameters[0] < 1 || header->parameters[0] > MOST_OUTPUTS))
        return MODEL_PARAMETER;
    for (int32_t i = first_unused; i < 8; i++)
        if (header->parameters[i] != 0)
            return MODEL_HEADER_PADDING;
    return MODEL_OK;
}

static uint32_t header_fault(const struct file_header *header, uint32_t size, uint32_t kind)
{
    if (size < HEADER_BYTES)
        return MODEL_TOO_SHORT;
    uint32_t fault = identity_fault(header, kind);
    if (fault == MODEL_OK)
        fault = length_fault(header, size);
    if (fault == MODEL_OK && header_crc((const uint8_t *)header, header->header_bytes) != header->crc)
        fault = MODEL_HEADER_CRC;
    return fault == MODEL_OK ? parameter_fault(header) : fault;
}

static int name_is_bad(const char *name)
{
    int32_t length = 0;
    while (length < MODEL_NAME_BYTES && name[length] != 0)
        length++;
    for (int32_t i = length; i < MODEL_NAME_BYTES; i++)
        if (name[i] != 0)
            return 1;
    return length == 0 || length == MODEL_NAME_BYTES;
}

/* Columns of a tensor whose size the file chooses; cols of the rule otherwise. */
static uint32_t columns_of(const struct tensor_rule *rule, const struct emu_model *model,
                           const struct file_entry *entry)
{
    if (rule->cols != VARIABLE)
        return rule->cols;
    if (rule->content == CONTENT_BYTES)
        return entry->shape[0];
    return model->outputs;
}

struct tensor_size tensor_size(const struct tensor_rule *rule, const struct emu_model *model,
                               const struct file_entry *entry)
{
    static const uint8_t bits[] = {32, 8, 8, 32, 16, 4, 2};
    struct tensor_size size;
    size.cols = columns_of(rule, model, entry);
    size.rows = rule->rows == VARIABLE ? model->outputs : rule->rows == 0 ? 1 : rule->rows;
    size.row_bytes = (size.cols * bits[rule->dtype] + 7) / 8;
    if (rule->dtype == FILE_S8 || rule->dtype == FILE_INT4 || rule->dtype == FILE_TERNARY)
        size.row_bytes = (size.row_bytes + 15) & ~15u;
    return size;
}

static int shape_is_bad(const struct tensor_rule *rule, const struct tensor_size *size,
                        const struct file_entry *entry)
{
    uint32_t ndim = rule->rows == 0 ? 1 : 2;
    uint32_t first = ndim == 1 ? size->cols : size->rows, second = ndim == 1 ? 1 : size->cols;
    if (rule->content == CONTENT_BYTES && (size->cols < TINYLM_VOCABULARY || size->cols > 65536))
        return 1;
    return entry->ndim != ndim || entry->shape[0] != first || entry->shape[1] != second || entry->shape[2] != 1 ||
           entry->shape[3] != 1;
}

static uint32_t place_fault(const struct file_entry *entry, uint32_t end, uint32_t file_bytes)
{
    if (entry->offset % 16 != 0)
        return MODEL_OFFSET;
    if (entry->offset < end)
        return MODEL_OVERLAP;
    if (entry->offset > ((end + 15) & ~15u))
        return MODEL_GAP;
    if (entry->offset > file_bytes || entry->length > file_bytes - entry->offset)
        return MODEL_BEYOND_END;
    for (uint32_t i = 0; i < sizeof entry->unused; i++)
        if (entry->unused[i] != 0)
            return MODEL_ENTRY_PADDING;
    return MODEL_OK;
}

/* id: the number of the tensor, when the fault is found later than the name. */
static uint32_t entry_fault(const struct file_entry *entry, const struct opening *open, uint32_t end, int32_t *id)
{
    if (name_is_bad(entry->name))
        return MODEL_NAME;
    *id = model_find(open->model->kind, entry->name);
    if (*id < 0)
        return MODEL_UNKNOWN;
    if (open->model->data[*id] != 0)
        return MODEL_DUPLICATE;
    uint32_t block;
    const struct tensor_rule *rule = model_rule(open->model->kind, (uint32_t)*id, &block);
    if (entry->dtype != rule->dtype)
        return MODEL_DTYPE;
    struct tensor_size size = tensor_size(rule, open->model, entry);
    if (shape_is_bad(rule, &size, entry))
        return MODEL_SHAPE;
    if (entry->group != rule->group)
        return MODEL_GROUP;
    if (entry->row_bytes != size.row_bytes)
        return MODEL_ROW_BYTES;
    if (entry->length != size.rows * size.row_bytes)
        return MODEL_LENGTH;
    return place_fault(entry, end, open->bytes);
}

static int32_t check_index(const struct opening *open, struct emu_model_error *error)
{
    uint32_t end = HEADER_BYTES + ENTRY_BYTES * open->count;
    for (uint32_t i = 0; i < open->count; i++) {
        int32_t id = -1;
        uint32_t fault = entry_fault(&open->entries[i], open, end, &id);
        if (fault != MODEL_OK)
            return refuse(error, fault, i, 0, 0);
        open->model->data[id] = open->file + open->entries[i].offset;
        if (id == TINYLM_TEXT_ID && open->model->kind == EMU_TINYLM)
            open->model->word_bytes = open->entries[i].length;
        end = open->entries[i].offset + open->entries[i].length;
    }
    for (uint32_t id = 0; id < open->model->count; id++)
        if (open->model->data[id] == 0)
            return refuse(error, MODEL_MISSING, id, 0, 0);
    return end != open->bytes ? refuse(error, MODEL_TRAILING, NOT_A_TENSOR, 0, 0) : EMU_OK;
}

int32_t emu_model_open(const void *file, uint32_t size, uint32_t kind, uint32_t flags, struct emu_model *model,
                       struct emu_model_error *error)
{
    if (((uintptr_t)file & 15) != 0)
        return EMU_MISALIGNED;
    const struct file_header *header = file;
    uint32_t fault = header_fault(header, size, kind);
    if (fault != MODEL_OK)
        return refuse(error, fault, NOT_A_TENSOR, 0, 0);
    *model = (struct emu_model){
        .kind = header->kind, .outputs = header->parameters[0], .count = model_tensor_count(header->kind)};
    struct opening open = {file, size, header->count, (const struct file_entry *)(header + 1), model};
    int32_t status = check_index(&open, error);
    if (status == EMU_OK && (flags & EMU_TRUST_MODEL) == 0)
        status = check_contents(&open, error);
    if (status == EMU_OK)
        *error = (struct emu_model_error){MODEL_OK, NOT_A_TENSOR, 0, 0};
    return status;
}
