/* Taps of a model: stage names from templates, whole tensors and pieces.
 *
 * In a template # stands for run->step, @ for the branch (c or u), * for run->block. A tap that is off costs a load
 * and a branch that is not taken; -DEMU_NO_TAPS removes even that.
 */
#ifndef EMU_STAGES_H
#define EMU_STAGES_H

#include "emu_run.h"

/* The expanded name, zero-padded to EMU_STAGE_NAME bytes. */
void stage_name(const struct emu_run *run, const char *template, char *name);
void stage_tap(struct emu_run *run, const char *template, const void *data, uint32_t dtype, int32_t rows,
               int32_t cols, int32_t stride);
void stage_tap_piece(struct emu_run *run, const char *template, const struct emu_piece *piece);
/* Keeps the stage and `bad` of a status 4 in the run; returns the status. */
int32_t stage_status(struct emu_run *run, const char *template, int32_t status, int32_t bad);

#ifdef EMU_NO_TAPS
#define EMU_TAPPED(run) 0
#else
#define EMU_TAPPED(run) __builtin_expect((run)->tap != 0, 0)
#endif

/* A whole stage of rows x cols elements at data, `stride` elements from row to row. */
#define EMU_TAP(run, template, data, dtype, rows, cols, stride) \
    do { \
        if (EMU_TAPPED(run)) \
            stage_tap(run, template, data, dtype, rows, cols, stride); \
    } while (0)

/* A rectangle of a stage: the fields of struct emu_piece in their order. */
#define EMU_TAP_PIECE(run, template, ...) \
    do { \
        if (EMU_TAPPED(run)) \
            stage_tap_piece(run, template, &(struct emu_piece){__VA_ARGS__}); \
    } while (0)

#endif
