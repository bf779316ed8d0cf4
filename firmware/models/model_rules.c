/* The lists of tensors. See emu_models.h. */
#include "model_rules.h"
#include "model_tensors.h"

#define VECTOR(name, n) {name, FILE_F32, CONTENT_PLAIN, 0, 0, n, 0}
#define MATRIX(name, rows, cols) {name, FILE_F32, CONTENT_PLAIN, 0, rows, cols, 0}
#define SCALES(name, n) {name ".w.scale", FILE_F32, CONTENT_SCALE, 0, 0, n, 0}
#define TABLE(name, n, crc) {name, FILE_F32, CONTENT_TABLE, 0, 0, n, crc}
#define LAYER8(name, rows, cols) \
    {name ".w", FILE_S8, CONTENT_PLAIN, 0, rows, cols, 0}, SCALES(name, rows), VECTOR(name ".b", rows)
#define TERNARY(name, rows, cols) {name ".w", FILE_TERNARY, CONTENT_PLAIN, 0, rows, cols, 0}, SCALES(name, 1)
#define LAYER4(name, rows, cols, group) \
    {name ".w", FILE_INT4, CONTENT_PLAIN, group, rows, cols, 0}, \
    {name ".w.scale", FILE_F16, CONTENT_SCALE, 0, rows, (cols + group - 1) / group, 0}
#define GELU_TABLES TABLE("gelu.value", 1024, 0x27D3D893u), TABLE("gelu.slope", 1024, 0x768772E5u)
#define SECTION(rules, repeat) {rules, sizeof rules / sizeof rules[0], repeat}

static const struct tensor_rule t2i_text[] = {
    {"tok.words", FILE_U8, CONTENT_WORDS, 0, 45, 16, 0}, MATRIX("txt.emb", 45, 96), MATRIX("txt.pos", 16, 96),
    VECTOR("txt.null", 96),
};
static const struct tensor_rule t2i_text_block[] = {
    VECTOR("txt.b#.ln1.w", 96), VECTOR("txt.b#.ln1.b", 96),
    LAYER8("txt.b#.qkv", 288, 96), LAYER8("txt.b#.proj", 96, 96),
    VECTOR("txt.b#.ln2.w", 96), VECTOR("txt.b#.ln2.b", 96),
    LAYER8("txt.b#.fc1", 384, 96), LAYER8("txt.b#.fc2", 96, 384),
};
static const struct tensor_rule t2i_before_blocks[] = {
    VECTOR("txt.ln.w", 96), VECTOR("txt.ln.b", 96), LAYER8("txt.fc1", 192, 96), LAYER8("txt.fc2", 192, 192),
    TABLE("time.freq", 128, 0xD44194ADu), LAYER8("time.fc1", 192, 256), LAYER8("time.fc2", 192, 192),
    LAYER8("mod", 1152, 192), LAYER8("patch", 192, 16), MATRIX("pos", 64, 192),
};
static const struct tensor_rule t2i_block[] = {
    MATRIX("b#.table", 6, 192), LAYER8("b#.qkv", 576, 192), LAYER8("b#.proj", 192, 192), LAYER8("b#.fc1", 576, 192),
    LAYER8("b#.fc2", 192, 576),
};
static const struct tensor_rule t2i_after_blocks[] = {
    LAYER8("final.mod", 384, 192), LAYER8("final", 16, 192),
    LAYER8("dec.conv0", 64, 36), LAYER8("dec.conv1", 64, 576), LAYER8("dec.conv2", 64, 576),
    LAYER8("dec.conv3", 48, 576), LAYER8("dec.conv4", 48, 432), LAYER8("dec.conv5", 48, 432),
    LAYER8("dec.conv6", 32, 432), LAYER8("dec.conv7", 32, 288), LAYER8("dec.conv8", 32, 288),
    LAYER8("dec.conv9", 3, 288),
    {"dec.s_in", FILE_F32, CONTENT_SCALE, 0, 0, 10, 0}, GELU_TABLES,
};

static const struct tensor_rule ternary_before_layers[] = {MATRIX("emb", 256, 128), MATRIX("pos", 32, 128)};
static const struct tensor_rule ternary_layer[] = {
    VECTOR("l#.norm1", 128), TERNARY("l#.qkv", 384, 128), TERNARY("l#.proj", 128, 128), VECTOR("l#.norm2", 128),
    TERNARY("l#.fc1", 256, 128), TERNARY("l#.fc2", 128, 256),
};
static const struct tensor_rule ternary_after_layers[] = {MATRIX("head.w", VARIABLE, 128), VECTOR("head.b", VARIABLE)};

static const struct tensor_rule tinylm_before_layers[] = {
    {"tok.start", FILE_S32, CONTENT_START, 0, 0, 4097, 0}, {"tok.bytes", FILE_U8, CONTENT_BYTES, 0, 0, VARIABLE, 0},
    LAYER4("emb", 4096, 128, 128), LAYER4("head", 4096, 128, 128), LAYER4("ple", 4096, 384, 128),
    LAYER4("proj", 384, 128, 32), VECTOR("ple.norm", 64), VECTOR("norm", 128),
};
static const struct tensor_rule tinylm_layer[] = {
    VECTOR("l#.norm1", 128), VECTOR("l#.norm2", 128), VECTOR("l#.norm3", 128), LAYER4("l#.qkv", 384, 128, 32),
    LAYER4("l#.o", 128, 128, 32), LAYER4("l#.gate", 415, 128, 32), LAYER4("l#.up", 415, 128, 32),
    LAYER4("l#.down", 128, 415, 32), LAYER4("l#.ple_gate", 64, 128, 32), LAYER4("l#.ple_proj", 128, 64, 32),
};
static const struct tensor_rule tinylm_after_layers[] = {TABLE("rope.freq", 16, 0x4EFC7BB9u), GELU_TABLES};

static const struct rule_section t2i_sections[] = {
    SECTION(t2i_text, 1), SECTION(t2i_text_block, 2), SECTION(t2i_before_blocks, 1), SECTION(t2i_block, 6),
    SECTION(t2i_after_blocks, 1), {0, 0, 0},
};
static const struct rule_section ternary_sections[] = {
    SECTION(ternary_before_layers, 1), SECTION(ternary_layer, 4), SECTION(ternary_after_layers, 1), {0, 0, 0},
};
static const struct rule_section tinylm_sections[] = {
    SECTION(tinylm_before_layers, 1), SECTION(tinylm_layer, 6), SECTION(tinylm_after_layers, 1), {0, 0, 0},
};

_Static_assert(sizeof t2i_text_block / sizeof t2i_text_block[0] == T2I_TXT_BLOCK_SIZE, "numbers of model_tensors.h");
_Static_assert(sizeof t2i_block / sizeof t2i_block[0] == T2I_BLOCK_SIZE, "numbers of model_tensors.h");
_Static_assert(sizeof ternary_layer / sizeof ternary_layer[0] == TERNARY_LAYER_SIZE, "numbers of model_tensors.h");
_Static_assert(sizeof tinylm_layer / sizeof tinylm_layer[0] == TINYLM_LAYER_SIZE, "numbers of model_tensors.h");
_Static_assert((int)T2I_TENSORS <= EMU_MODEL_TENSORS && (int)T2I_TENSORS == 175, "numbers of model_tensors.h");
_Static_assert((int)TERNARY_TENSORS == 44 && (int)TINYLM_TENSORS == 117, "numbers of model_tensors.h");

const struct rule_section *model_sections(uint32_t kind)
{
    switch (kind) {
    case EMU_T2I:
        return t2i_sections;
    case EMU_TERNARY:
        return ternary_sections;
    case EMU_TINYLM:
        return tinylm_sections;
    default:
        return 0;
    }
}

const struct tensor_rule *model_rule(uint32_t kind, uint32_t id, uint32_t *block)
{
    const struct rule_section *section = model_sections(kind);
    for (; section != 0 && section->count != 0; section++) {
        uint32_t size = (uint32_t)section->count * section->repeat;
        if (id < size) {
            *block = id / section->count;
            return &section->rules[id % section->count];
        }
        id -= size;
    }
    return 0;
}

uint32_t model_tensor_count(uint32_t kind)
{
    uint32_t count = 0;
    const struct rule_section *section = model_sections(kind);
    for (; section != 0 && section->count != 0; section++)
        count += (uint32_t)section->count * section->repeat;
    return count;
}

/* name: zero-ended; block: what # stands for. */
static int is_named(const char *pattern, uint32_t block, const char *name)
{
    for (; *pattern != 0; pattern++, name++)
        if (*name != (*pattern == '#' ? (char)('0' + block) : *pattern))
            return 0;
    return *name == 0;
}

int32_t model_find(uint32_t kind, const char *name)
{
    int32_t id = 0;
    const struct rule_section *section = model_sections(kind);
    for (; section != 0 && section->count != 0; section++)
        for (uint32_t block = 0; block < section->repeat; block++)
            for (uint32_t i = 0; i < section->count; i++, id++)
                if (is_named(section->rules[i].name, block, name))
                    return id;
    return -1;
}

const char *emu_model_tensor_name(uint32_t kind, uint32_t id, char *buffer)
{
    uint32_t block = 0;
    const struct tensor_rule *rule = model_rule(kind, id, &block);
    char *to = buffer;
    for (const char *from = rule != 0 ? rule->name : ""; *from != 0; from++)
        *to++ = *from == '#' ? (char)('0' + block) : *from;
    *to = 0;
    return buffer;
}
