/* One core or two. Each unit of a job is computed by one core alone and in the same way, so the results do not depend
 * on who computes it or when. */
#include "par.h"

/* What was stored before is visible to the other core before what is stored afterwards; likewise for loads. */
static inline void memory_barrier(void)
{
#ifdef __XTENSA__
    __asm__ volatile("memw" : : : "memory");
#else
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

int32_t par_one_core(struct emu_run *run, emu_part *part, void *arg, int32_t n)
{
    (void)run;
    return part(arg, 0, n, 0);
}

static void post(struct emu_job *job, emu_part *part, void *arg, int32_t first, int32_t end)
{
    job->part = part;
    job->arg = arg;
    job->first = first;
    job->end = end;
    memory_barrier();
    job->posted++;
}

static int32_t wait_for_other_core(struct emu_job *job)
{
    while (job->done != job->posted)
        ;
    memory_barrier();
    return job->status;
}

int32_t par_two_cores(struct emu_run *run, emu_part *part, void *arg, int32_t n)
{
    struct emu_job *job = run->par_arg;
    int32_t half = (n + 1) / 2;
    if (half == n)
        return part(arg, 0, n, 0);
    post(job, part, arg, half, n);
    int32_t mine = part(arg, 0, half, 0), theirs = wait_for_other_core(job);
    return mine != EMU_OK ? mine : theirs;
}

uint32_t par_worker(struct emu_job *job)
{
    uint32_t first = job->done, served = first;
    for (;;) {
        while (job->posted == served)
            if (job->stop)
                return served - first;
        memory_barrier();
        job->status = job->part(job->arg, job->first, job->end, 1);
        memory_barrier();
        job->done = ++served;
    }
}

void par_stop(struct emu_job *job)
{
    memory_barrier();
    job->stop = 1;
}
