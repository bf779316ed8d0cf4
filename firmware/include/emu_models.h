/* The three models: model file, text-to-image, ternary transformer, language model.
 *
 * Model file: docs/models.md; in short: header 64 bytes, index of 80-byte entries, tensors in the order of the index,
 * each at the next multiple of 16 after the one before (the first right after the index), gaps zero, nothing behind the
 * last one. Coded matrices (int8, int4, ternary) have shape [rows][cols] and row_bytes rounded up to 16; every other
 * tensor is unpadded: rows = product of all dimensions but the last (1 for a vector), row_bytes = last dimension *
 * item size. Every tensor of the list must be there once, no other; writers use the order below, readers take any.
 *
 * i8 NAME [o][k] stands for NAME.w int8 [o][k] (group 0), NAME.w.scale f32 [o], NAME.b f32 [o].
 * i4 NAME [o][k] g stands for NAME.w int4 [o][k] with group g, NAME.w.scale f16 [o][ceil(k / g)] (group 0).
 * t2 NAME [o][k] stands for NAME.w ternary [o][k], NAME.w.scale f32 [1].
 *
 * kind 1, t2i, 175 tensors:
 *   tok.words u8 [45][16]; txt.emb f32 [45][96]; txt.pos f32 [16][96]; txt.null f32 [96];
 *   for i in 0..1: txt.bi.ln1.w, .ln1.b f32 [96]; i8 txt.bi.qkv [288][96]; i8 txt.bi.proj [96][96];
 *                  txt.bi.ln2.w, .ln2.b f32 [96]; i8 txt.bi.fc1 [384][96]; i8 txt.bi.fc2 [96][384];
 *   txt.ln.w, txt.ln.b f32 [96]; i8 txt.fc1 [192][96]; i8 txt.fc2 [192][192];
 *   time.freq f32 [128]; i8 time.fc1 [192][256]; i8 time.fc2 [192][192]; i8 mod [1152][192];
 *   i8 patch [192][16]; pos f32 [64][192];
 *   for i in 0..5: bi.table f32 [6][192]; i8 bi.qkv [576][192]; i8 bi.proj [192][192]; i8 bi.fc1 [576][192];
 *                  i8 bi.fc2 [192][576];
 *   i8 final.mod [384][192]; i8 final [16][192];
 *   for k in 0..9: i8 dec.convk [o][9c], (o, c) = 64,4 64,64 64,64 48,64 48,48 48,48 32,48 32,32 32,32 3,32;
 *   dec.s_in f32 [10]; gelu.value f32 [1024]; gelu.slope f32 [1024]
 * kind 2, ternary, 44 tensors (header word at 32: outputs, 1..4096):
 *   emb f32 [256][128]; pos f32 [32][128];
 *   for i in 0..3: li.norm1 f32 [128]; t2 li.qkv [384][128]; t2 li.proj [128][128]; li.norm2 f32 [128];
 *                  t2 li.fc1 [256][128]; t2 li.fc2 [128][256];
 *   head.w f32 [outputs][128]; head.b f32 [outputs]
 * kind 3, tinylm, 117 tensors:
 *   tok.start i32 [4097]; tok.bytes u8 [n], n = tok.start[4096] in 4096..65536: word t is bytes start[t] ..
 *     start[t+1]-1, 1..32 bytes, words 0..255 are the single bytes; i4 emb [4096][128] 128; i4 head [4096][128] 128;
 *   i4 ple [4096][384] 128; i4 proj [384][128] 32; ple.norm f32 [64]; norm f32 [128];
 *   for i in 0..5: li.norm1, .norm2, .norm3 f32 [128]; i4 li.qkv [384][128] 32; i4 li.o [128][128] 32;
 *                  i4 li.gate [415][128] 32; i4 li.up [415][128] 32; i4 li.down [128][415] 32;
 *                  i4 li.ple_gate [64][128] 32; i4 li.ple_proj [128][64] 32;
 *   rope.freq f32 [16]; gelu.value f32 [1024]; gelu.slope f32 [1024]
 */
#ifndef EMU_MODELS_H
#define EMU_MODELS_H

#include "emu_run.h"

/* --- model file ------------------------------------------------------------------------------------------ */
enum emu_model_kind { EMU_T2I = 1, EMU_TERNARY = 2, EMU_TINYLM = 3 };

/* Why a file is refused; the first that applies, in the order of the checks: header; then each index entry in turn
 * (all checks of one entry before the next); missing tensors; end of the file; then, in the order of the index, gap,
 * CRC and contents of each tensor. tensor: index of the entry, 0xFFFFFFFF for the header; MISSING: index in the list
 * of the kind, in the writers' order. */
enum emu_model_fault {
    MODEL_OK = 0,
    /* header */
    MODEL_TOO_SHORT = 1,      /* fewer than 64 bytes are there */
    MODEL_MAGIC = 2,
    MODEL_VERSION = 3,
    MODEL_KIND = 4,           /* not the kind that was asked for (0: any of 1, 2, 3) */
    MODEL_SPEC_VERSION = 5,
    MODEL_COUNT = 6,          /* 0 tensors, or more than 255 */
    MODEL_HEADER_LENGTH = 7,  /* not 64 + 80 * count */
    MODEL_FILE_LENGTH = 8,    /* file_len below header_len */
    MODEL_TRUNCATED = 9,      /* fewer bytes are there than file_len */
    MODEL_TRAILING = 10,      /* more bytes than file_len, or bytes behind the last tensor */
    MODEL_HEADER_CRC = 11,
    MODEL_PARAMETER = 12,     /* ternary: outputs outside 1..4096 */
    MODEL_HEADER_PADDING = 13, /* an unused header byte is not 0 */
    /* index entries */
    MODEL_NAME = 14,          /* empty, without end, or bytes behind its end that are not 0 */
    MODEL_UNKNOWN = 15,       /* no tensor of this kind has this name */
    MODEL_DUPLICATE = 16,
    MODEL_DTYPE = 17,
    MODEL_SHAPE = 18,         /* ndim, shape, or an unused dimension that is not 1 */
    MODEL_GROUP = 19,
    MODEL_ROW_BYTES = 20,
    MODEL_LENGTH = 21,        /* not rows * row_bytes */
    MODEL_OFFSET = 22,        /* not a multiple of 16 */
    MODEL_OVERLAP = 23,       /* begins before the end of what precedes it */
    MODEL_GAP = 24,           /* begins later than the next multiple of 16 */
    MODEL_BEYOND_END = 25,    /* ends behind the end of the file */
    MODEL_ENTRY_PADDING = 26, /* one of the last bytes of the entry is not 0 */
    MODEL_MISSING = 27,
    /* contents: row, column say where; bytes of a row for PADDING */
    MODEL_GAP_BYTES = 28,     /* a byte between this tensor and the one before is not 0; column: which */
    MODEL_CRC = 29,
    MODEL_TABLE_CRC = 30,     /* gelu.value, gelu.slope, time.freq, rope.freq are not the tables of the contract */
    MODEL_NOT_FINITE = 31,
    MODEL_NEGATIVE_SCALE = 32, /* of *.scale and dec.s_in: below 0 (-0 is not) */
    MODEL_CODE_S8 = 33,       /* int8 weight -128 */
    MODEL_CODE_INT4 = 34,     /* int4 code -8 */
    MODEL_CODE_TERNARY = 35,  /* ternary code 11 */
    MODEL_PADDING = 36,       /* padding behind a coded row is not code 0 (ternary: 01); column: byte of the row */
    MODEL_WORDS = 37,         /* tok.words: an empty word, or bytes behind its end; tok.start, tok.bytes: see above */
};

#define EMU_MODEL_TENSORS 192

/* An opened file: data[id] is the tensor with number id in the list of its kind, read in place. */
struct emu_model {
    uint32_t kind;
    uint32_t outputs;     /* ternary */
    uint32_t word_bytes;  /* tinylm: bytes of tok.bytes */
    uint32_t count;       /* tensors of the kind */
    const void *data[EMU_MODEL_TENSORS];
};

struct emu_model_error {
    uint32_t reason;
    uint32_t tensor;
    uint32_t row;
    uint32_t column;
};

/* kind 0 takes any. file 16-byte aligned (3), never read beyond file + size. flags: EMU_TRUST_MODEL. Status 0, 3, or
 * 5 with *error filled. */
int32_t emu_model_open(const void *file, uint32_t size, uint32_t kind, uint32_t flags, struct emu_model *model,
                       struct emu_model_error *error);
/* Name of tensor id in the list of a kind (at most 39 characters), "" when there is none. buffer [40] is returned. */
const char *emu_model_tensor_name(uint32_t kind, uint32_t id, char *buffer);

/* --- text to image ------------------------------------------------------------------------------------------ */
#define T2I_MAX_TOKENS 16
#define T2I_MAX_STEPS 64
#define T2I_VOCABULARY 45
#define T2I_ARENA_BYTES 294912
#define T2I_SLOW_BYTES 262144
#define T2I_RGB_BYTES 12288

struct t2i_request {
    const uint8_t *prompt;  /* UTF-8 (composed), used when tokens is NULL; may be NULL with prompt_bytes 0 */
    uint32_t prompt_bytes;
    const int32_t *tokens;  /* ids 0..44, or NULL */
    int32_t token_count;    /* with tokens: 0..16; else set to the number of known words */
    uint32_t seed;
    int32_t steps;          /* 1..64 */
    float cfg;              /* finite */
    uint8_t *rgb;           /* [64][64][3], out */
};

/* The first 16 known words of a prompt; returns their number. words: tok.words of the file. */
int32_t t2i_tokenize(const uint8_t *words, const uint8_t *text, uint32_t bytes, int32_t *tokens);
/* Status 0; 1 bad request; 3 misaligned memory; 4 not finite (run->stage, run->bad); 5 model file (run->reason, ...); 6
 * arena or slow memory too small (arena_high, slow_high say what was asked for). */
int32_t t2i_run(const void *model, uint32_t model_bytes, struct t2i_request *request, struct emu_run *run);

/* --- ternary --------------------------------------------------------------------------------------------------- */
#define TERNARY_TOKENS 32
#define TERNARY_WIDTH 128
#define TERNARY_LAYERS 4

struct ternary_request {
    const uint8_t *text;  /* cut or padded with zeros to 32 bytes */
    uint32_t text_bytes;
    float *logits;        /* [outputs] */
    int32_t outputs;      /* capacity of logits in; outputs of the model out */
};

/* The whole model: status as t2i_run. */
int32_t ternary_run(const void *model, uint32_t model_bytes, struct ternary_request *request, struct emu_run *run);
/* The parts of a layer pipeline. x float [32][128]: out; in and out; in. first <= end <= 4. */
int32_t ternary_embed(const struct emu_model *model, const uint8_t *text, uint32_t bytes, float *x,
                      struct emu_run *run);
int32_t ternary_layers(const struct emu_model *model, int32_t first, int32_t end, float *x, struct emu_run *run);
int32_t ternary_head(const struct emu_model *model, const float *x, float *logits, struct emu_run *run);

/* --- tinylm ------------------------------------------------------------------------------------------------------ */
#define TINYLM_VOCABULARY 4096
#define TINYLM_POSITIONS 256
#define TINYLM_SLOW_BYTES 442368 /* KV cache: 393,216 + 49,152 */

struct tinylm {
    int32_t position;      /* of the next token */
    uint32_t random;       /* state of the sampler */
    struct emu_model model;
};

/* Longest match from the left (lowest id among equals); returns the number of tokens, of which the first `capacity` are
 * stored. */
int32_t tinylm_tokenize(const struct emu_model *model, const uint8_t *text, uint32_t bytes, int32_t *tokens,
                        int32_t capacity);
/* Opens the file, position 0, sampler at fmix32(seed). The cache is run->slow. */
int32_t tinylm_start(const void *model, uint32_t model_bytes, uint32_t seed, struct tinylm *lm, struct emu_run *run);
/* One token at the next position: logits [4096]. Token outside the vocabulary, or position 256: status 1. With a
 * status the position stays. */
int32_t tinylm_step(struct tinylm *lm, int32_t token, float *logits, struct emu_run *run);
/* temperature > 0: sample_f32 with the state of lm; else argmax_f32. */
int32_t tinylm_choose(struct tinylm *lm, const float *logits, float temperature);

#endif
