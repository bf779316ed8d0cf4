/* A machine of nine instructions that runs a program out of `work`: a jump by table for every instruction. */
#include "bench.h"

enum { HALT, LOAD, MOVE, ADD, SHIFT_ADD, HALVE, SKIP_IF_ODD, SKIP_IF_ONE, JUMP };

typedef struct {
    uint8_t code;
    uint8_t to;
    uint8_t from;
    uint8_t value;
} step;

/* r0: the number, r1: steps so far; follows 3n + 1 until it reaches 1. */
static const step PROGRAM[] = {
    {LOAD, 1, 0, 0},        {SKIP_IF_ONE, 0, 0, 7}, {LOAD, 2, 0, 1}, {ADD, 1, 2, 0},
    {SKIP_IF_ODD, 0, 0, 2}, {HALVE, 0, 0, 0},       {JUMP, 0, 0, 1}, {SHIFT_ADD, 0, 2, 0},
    {JUMP, 0, 0, 1},        {MOVE, 3, 1, 0},        {HALT, 0, 0, 0},
};

#define STEPS (sizeof PROGRAM / sizeof PROGRAM[0])

static uint32_t run(const step *program, uint32_t *r)
{
    for (uint32_t pc = 0;; pc++) {
        step now = program[pc];
        switch (now.code) {
        case LOAD: r[now.to] = now.value; break;
        case MOVE: r[now.to] = r[now.from]; break;
        case ADD: r[now.to] += r[now.from]; break;
        case SHIFT_ADD: r[now.to] += 2 * r[now.to] + r[now.from]; break;
        case HALVE: r[now.to] >>= 1; break;
        case SKIP_IF_ODD: pc += (r[now.from] & 1) ? now.value : 0; break;
        case SKIP_IF_ONE: pc += r[now.from] == 1 ? now.value : 0; break;
        case JUMP: pc = now.value - 1u; break;
        default: return r[3];
        }
    }
}

uint32_t bench_interpreter(void *work, uint32_t size, uint32_t seed, uint32_t rounds)
{
    uint32_t *r = work, hash = seed;
    step *program = (step *)(r + 4);
    for (uint32_t i = 0; i < STEPS; i++)
        program[i] = PROGRAM[i];
    for (uint32_t round = 0; round < rounds; round++) {
        r[0] = size + round;
        hash = bench_mix(hash, run(program, r));
    }
    return hash;
}
