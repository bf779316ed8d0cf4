/* A request RUN, taken apart. docs/wire.md section 6. */
#ifndef EMU_AGENT_RUN_H
#define EMU_AGENT_RUN_H

#include "state.h"
#include "emu_models.h"

/* A word, or a pointer with the bytes that belong to it. */
struct run_argument {
    uint32_t word;
    uint8_t *data;
    uint32_t length;
};

/* A tensor that the host wants: elements from `first` on go to `to`. */
struct run_tensor {
    char name[WIRE_NAME];
    uint8_t *to;
    uint32_t length;
    uint32_t first;
    uint32_t dtype;
    uint32_t total;
    uint32_t seen; /* elements that were copied */
};

/* Bytes that a run uses. */
struct run_piece {
    const uint8_t *start;
    uint32_t size;
    int written;
};

#define RUN_TENSORS 8u
#define RUN_PIECES (3u + 8u + RUN_TENSORS)

struct run_job {
    struct emu_run run;
    struct emu_digest_table table;
    struct run_argument arguments[8];
    struct run_tensor tensors[RUN_TENSORS];
    uint32_t tensor_count;
    struct run_piece pieces[RUN_PIECES];
    uint32_t piece_count;
    uint32_t limit;
    uint32_t last;    /* cycle count at the end of the last tap */
    uint32_t mark;    /* cycle count of the last MARK */
    uint64_t cycles;  /* up to `last` */
};

/* The tap of every run: run->tap_arg is the job. */
void run_tap(struct emu_run *run, const char *name, const struct emu_piece *piece);
/* Runs model `index` (agent_models). A status of the wire; *result is what the function returned. */
uint32_t run_model(uint32_t index, struct run_job *job, int32_t *result);
/* Argument 0 of this model is a model file. */
int run_has_file(uint32_t index);
/* Adds the cycles since the last look. */
uint32_t run_tick(struct run_job *job);

#endif
