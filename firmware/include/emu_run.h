/* What a model run needs from outside: memory, a way to use two cores, and somewhere for stage tensors to go.
 *
 * All structures here consist of 32-bit words on the chip, in this order, without padding.
 */
#ifndef EMU_RUN_H
#define EMU_RUN_H

#include "emu_kernels.h"

struct emu_run;

/* --- stages -------------------------------------------------------------------------------------------- */
enum emu_dtype { EMU_F32 = 0, EMU_S8 = 1, EMU_U8 = 2, EMU_S32 = 3 }; /* docs/numerics.md section 11 */

#define EMU_STAGE_NAME 24

/* A rectangle of a stage, as its consumer will read it: element (r, c) stands at data[r * stride + c] and is element
 * first + r * pitch + c of the stage in C order. total: elements of the whole stage. */
struct emu_piece {
    const void *data;
    uint32_t dtype;
    uint32_t first;
    uint32_t rows;
    uint32_t cols;
    uint32_t stride;
    uint32_t pitch;
    uint32_t total;
};

/* Called by one core only (the one that runs the model), between the parts that two cores share. */
typedef void emu_tap(struct emu_run *run, const char *name, const struct emu_piece *piece);

/* Digest of one stage; complete when seen == total. digest includes mix(total, dtype). */
struct emu_digest {
    char name[EMU_STAGE_NAME]; /* zero-padded */
    uint32_t dtype;
    uint32_t total;
    uint32_t seen;
    uint32_t unused; /* 0 */
    uint64_t digest;
};

struct emu_digest_table {
    struct emu_digest *records; /* 8-byte aligned */
    uint32_t capacity;
    uint32_t count;   /* in the order of first appearance; set to 0 before a run */
    uint32_t dropped; /* pieces of stages that found no room */
};

/* The built-in tap: adds the piece to the table that run->tap_arg points to (NULL: none), then calls emu_tap_tensor. */
void emu_tap_digest(struct emu_run *run, const char *name, const struct emu_piece *piece);
/* Does nothing: the place where a debugger or an emulator stops to copy the tensor. Called for every piece. */
void emu_tap_tensor(const char *name, const struct emu_piece *piece);

/* --- two cores ------------------------------------------------------------------------------------------- */
/* Units first .. end-1 of a job; core 0 or 1 says whose scratch memory to use. Returns a status. */
typedef int32_t emu_part(void *arg, int32_t first, int32_t end, int32_t core);
/* Runs part over 0..n-1 and returns when all is done and visible: the lowest-numbered failing core's status, or 0. */
typedef int32_t emu_par(struct emu_run *run, emu_part *part, void *arg, int32_t n);

int32_t par_one_core(struct emu_run *run, emu_part *part, void *arg, int32_t n);
/* Core 0 takes units 0 .. (n+1)/2 - 1, core 1 the others. run->par_arg: a struct emu_job that core 1 serves. */
int32_t par_two_cores(struct emu_run *run, emu_part *part, void *arg, int32_t n);

/* Shared by two cores; all zero at first. Core 0 writes part, arg, first, end, then posted = serial; core 1 writes
 * status, then done = serial. */
struct emu_job {
    emu_part *part;
    void *arg;
    int32_t first;
    int32_t end;
    volatile uint32_t posted;
    volatile uint32_t done;
    volatile int32_t status;
    volatile uint32_t stop; /* set by par_stop */
};

/* The loop of core 1: serves jobs until par_stop; returns the number of jobs served. */
uint32_t par_worker(struct emu_job *job);
void par_stop(struct emu_job *job);

/* --- the run ---------------------------------------------------------------------------------------------- */
#define EMU_TRUST_MODEL 1u /* flags: no CRCs and contents when the model file is opened; its structure is checked */

struct emu_run {
    uint8_t *arena;       /* working memory, 16-byte aligned: internal SRAM */
    uint32_t arena_bytes;
    uint8_t *slow;        /* large buffers, 16-byte aligned: PSRAM. NULL where a model needs none */
    uint32_t slow_bytes;
    emu_tap *tap;         /* NULL: no taps */
    void *tap_arg;
    emu_par *par;         /* NULL: par_one_core */
    void *par_arg;
    uint32_t flags;
    /* results */
    uint32_t arena_high;  /* most bytes of the arena in use at one time */
    uint32_t slow_high;
    uint32_t bad;         /* with status 4: row, column or head; with 5: index of the tensor in the file */
    uint32_t reason;      /* with status 5: enum emu_model_fault */
    uint32_t row;         /* with status 5: place in the tensor, where the fault has one */
    uint32_t column;
    char stage[EMU_STAGE_NAME]; /* with status 4: the stage that was being computed */
    /* inside: where the run is */
    int32_t step;
    int32_t branch;
    int32_t block;
    uint32_t arena_used;
    uint32_t slow_used;
};

#endif
