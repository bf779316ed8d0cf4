/* Calls a kernel again and again inside the guest, so that no request of the host is between two calls.
 *
 * Each round first puts back what the kernel changes and reads (its inout buffers), so that all rounds compute the
 * same. The same rounds with `rounds_nothing` in place of the kernel cost all but the kernel itself.
 */
#include <stdint.h>

enum { WORDS = 24, COPIES = 8 };

typedef uint32_t word;
typedef uint32_t function(
    word, word, word, word, word, word, word, word, word, word, word, word,
    word, word, word, word, word, word, word, word, word, word, word, word);

struct job {
    uint32_t rounds;
    function *kernel;
    word a[WORDS]; /* as they stand in registers and on the stack */
    struct {
        uint32_t *to;
        const uint32_t *from;
        uint32_t words;
    } copies[COPIES];
};

uint32_t rounds_run(const struct job *job);
void rounds_nothing(void);

void rounds_nothing(void)
{
}

static void restore(const struct job *job)
{
    for (uint32_t i = 0; i < COPIES; i++)
        for (uint32_t k = 0; k < job->copies[i].words; k++)
            job->copies[i].to[k] = job->copies[i].from[k];
}

/* What the last call left in a2. */
uint32_t rounds_run(const struct job *job)
{
    const word *a = job->a;
    uint32_t result = 0;
    for (uint32_t r = 0; r < job->rounds; r++) {
        restore(job);
        result = job->kernel(
            a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11],
            a[12], a[13], a[14], a[15], a[16], a[17], a[18], a[19], a[20], a[21], a[22], a[23]);
    }
    return result;
}
