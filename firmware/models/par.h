/* Sharing work out to the cores. See emu_run.h. */
#ifndef EMU_PAR_H
#define EMU_PAR_H

#include "emu_run.h"

#define EMU_CORES 2

static inline int32_t run_parts(struct emu_run *run, emu_part *part, void *arg, int32_t n)
{
    return run->par != 0 ? run->par(run, part, arg, n) : part(arg, 0, n, 0);
}

#endif
