/* The built-in tap: a digest for every stage. numerics.md section 11. */
#include "emu_run.h"

static int is_named(const char *a, const char *b)
{
    for (int32_t i = 0; i < EMU_STAGE_NAME; i++)
        if (a[i] != b[i])
            return 0;
    return 1;
}

/* The record of the stage, made when it is new; NULL: no room. The newest are looked at first, since a stage's pieces
 * come close together. */
static struct emu_digest *record_of(struct emu_digest_table *table, const char *name, const struct emu_piece *piece)
{
    for (uint32_t i = table->count; i-- > 0;)
        if (is_named(table->records[i].name, name))
            return &table->records[i];
    if (table->count >= table->capacity)
        return 0;
    struct emu_digest *record = &table->records[table->count++];
    for (int32_t i = 0; i < EMU_STAGE_NAME; i++)
        record->name[i] = name[i];
    record->dtype = piece->dtype;
    record->total = piece->total;
    record->seen = record->unused = 0;
    record->digest = 0;
    digest_end(piece->total, piece->dtype, &record->digest);
    return record;
}

static void add_row(const struct emu_piece *piece, uint32_t r, uint64_t *digest)
{
    uint32_t first = piece->first + r * piece->pitch, at = r * piece->stride;
    int32_t n = (int32_t)piece->cols;
    if (piece->dtype == EMU_F32)
        digest_f32((const float *)piece->data + at, n, first, digest);
    else if (piece->dtype == EMU_S32)
        digest_s32((const int32_t *)piece->data + at, n, first, digest);
    else
        digest_u8((const uint8_t *)piece->data + at, n, first, digest);
}

__attribute__((noinline)) void emu_tap_tensor(const char *name, const struct emu_piece *piece)
{
    __asm__ volatile("" : : "r"(name), "r"(piece) : "memory");
}

void emu_tap_digest(struct emu_run *run, const char *name, const struct emu_piece *piece)
{
    struct emu_digest_table *table = run->tap_arg;
    struct emu_digest *record = table != 0 ? record_of(table, name, piece) : 0;
    if (record != 0) {
        for (uint32_t r = 0; r < piece->rows; r++)
            add_row(piece, r, &record->digest);
        record->seen += piece->rows * piece->cols;
    } else if (table != 0) {
        table->dropped++;
    }
    emu_tap_tensor(name, piece);
}
