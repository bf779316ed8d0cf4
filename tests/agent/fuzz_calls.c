/* Random arguments for every function that CALL can call. What extents_check lets pass is really called, on blocks of exactly the
 * bytes that it names, of random contents, under AddressSanitizer: an access beside them ends the program. Prints for each function
 * how many calls were made, refused, and answered with status 0 (or without a status). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "state.h"
#include "signature.h"
#include "extents.h"
#include "fuzz_random.h"

#define MOST_BYTES (1u << 18)
#define MOST_NUMBER 5000u

static uint32_t short_by; /* blocks are so many bytes too short: the fuzzer must notice */

void host_memory(uint8_t *a, uint32_t na, uint8_t *b, uint32_t nb, uint8_t *c, uint32_t nc);
void host_start(uint32_t reason);

static uint32_t mode; /* sizes that fit vectors are wanted */

/* Sizes that fit each other often, and those that checks get wrong. */
static uint32_t number(void)
{
    static const uint32_t sizes[] = {0, 1, 1, 2, 3, 4, 7, 8, 15, 16, 16, 17, 32, 32, 33, 48, 64, 96};
    static const uint32_t odd[] = {0xFFFFFFFF, 0x7FFFFFFF, 0x80000000, 0x80000001, 0x40000000, 0x10000, 0xFFFF0001,
                                   133144, 133145, 0x20000000, 46341, 65536};
    static const uint32_t vectors[] = {0, 1, 1, 2, 3, 16, 16, 32, 32, 48, 64, 64, 96, 128, 144, 256};
    uint32_t kind = pick(40);
    if (mode != 0 && kind < 38)
        return vectors[pick(mode == 1 ? 16 : 9)];
    return kind < 30 ? sizes[pick(sizeof sizes / sizeof sizes[0])]
                     : kind < 39 ? pick(130) : odd[pick(sizeof odd / sizeof odd[0])];
}

static uint32_t float_bits(void)
{
    static const uint32_t odd[] = {0, 0x80000000, 0x7F800000, 0xFF800000, 0x7FC00000, 0x3F800000, 0x7F7FFFFF, 1};
    return pick(3) ? 0x3F000000u + pick(0x1000000) : pick(2) ? odd[pick(8)] : draw();
}

static uint8_t *block(uint32_t size)
{
    uint8_t *made = malloc(size), *at = made;
    uint32_t kind = pick(4), word;
    for (uint32_t i = 0; i < size; i += 4, at += 4) {
        word = kind == 0 ? draw() : kind == 1 ? float_bits() : kind == 2 ? pick(20) : pick(8) ? 0x3F800000u : draw();
        memcpy(at, &word, size - i < 4 ? size - i : 4);
    }
    return made;
}

/* Words of the scalars; pointers far apart, with room for anything. The number of words. */
static uint32_t draw_arguments(const char *signature, struct call_argument *arguments)
{
    struct parameter wanted;
    uint32_t n = 0;
    const char *at = signature_parameters(signature);
    mode = pick(3);
    while ((at = signature_next(at, &wanted)) != 0)
        for (uint32_t k = 0; k < wanted.words; k++, n++)
            arguments[n] = (struct call_argument){.word = wanted.pointer ? (uintptr_t)(n + 1) << 40 : wanted.type == 'f' ? float_bits() : number(),
                                                  .room = UINT32_MAX, .pointer = wanted.pointer, .written = wanted.written};
    return n;
}

static int is_too_much(const struct call_argument *arguments, uint32_t n, const char *signature)
{
    struct parameter wanted;
    const char *at = signature_parameters(signature);
    for (uint32_t i = 0; i < n; i++) {
        at = signature_next(at, &wanted);
        if (arguments[i].pointer ? arguments[i].bytes > MOST_BYTES
                                 : wanted.type != 'f' && arguments[i].word > MOST_NUMBER)
            return 1;
    }
    return 0;
}

static uint32_t less(uint32_t size)
{
    return size > short_by ? size - short_by : 0;
}

static uint64_t call(const struct agent_kernel *kernel, struct call_argument *arguments, uint32_t n)
{
    uintptr_t words[WIRE_ARGUMENTS] = {0};
    for (uint32_t i = 0; i < n; i++)
        words[i] = arguments[i].pointer ? (uintptr_t)block(less(arguments[i].bytes)) : arguments[i].word;
    uint64_t value = agent_port_call(kernel->function, kernel->signature, words, n, 0);
    for (uint32_t i = 0; i < n; i++)
        if (arguments[i].pointer)
            free((void *)words[i]);
    return value;
}

static void fuzz(uint32_t index, uint32_t count)
{
    struct agent_kernel kernel = agent_kernel(index);
    uint32_t called = 0, refused = 0, good = 0, which = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct call_argument arguments[WIRE_ARGUMENTS];
        uint32_t n = draw_arguments(kernel.signature, arguments);
        if (extents_check(kernel.extents, arguments, n, &which) != EXTENT_NONE) {
            refused++;
        } else if (!is_too_much(arguments, n, kernel.signature)) {
            uint64_t value = call(&kernel, arguments, n);
            called++;
            good += kernel.signature[0] != 'i' || (uint32_t)value == 0;
        }
    }
    printf("%s %u called, %u refused, %u good\n", kernel.name, called, refused, good);
}

int main(int argc, char **argv)
{
    static uint8_t memory[3][4096] __attribute__((aligned(64)));
    uint32_t count = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 1000;
    short_by = argc > 4 ? (uint32_t)strtoul(argv[4], NULL, 10) : 0;
    state = (argc > 1 ? strtoull(argv[1], NULL, 10) : 1) * 0x9E3779B97F4A7C15u + 1;
    host_memory(memory[0], 4096, memory[1], 4096, memory[2], 4096);
    host_start(0);
    for (uint32_t i = 0; i < agent_state.kernels; i++)
        if (argc < 4 || argv[3][0] == 0 || strcmp(agent_kernel(i).name, argv[3]) == 0)
            fuzz(i, count);
    return 0;
}
