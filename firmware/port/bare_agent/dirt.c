#include "crash.h"

#define DIRT_WORDS 56u

void dirt_registers(const uint32_t *from);

static uint32_t dirt[DIRT_WORDS] __attribute__((aligned(16)));

void agent_dirty(uint32_t seed)
{
    uint32_t x = seed;
    for (uint32_t i = 0; i < DIRT_WORDS; i++) {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        dirt[i] = x;
    }
    dirt_registers(dirt);
}
