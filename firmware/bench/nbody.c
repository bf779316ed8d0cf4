/* Bodies that attract each other, in single precision: all pairs, then a step in time. */
#include "../numerics/bits.h"
#include "bench.h"

#define SOFTENING 0.01f
#define STEP 0.001f

typedef struct {
    float x, y, z, vx, vy, vz, mass;
} body;

/* 1 / sqrt(a) of a positive normal number: half the exponent, then Newton's method. */
static float inverse_root(float a)
{
    float y = f32_from_bits(0x5F3759DFu - (f32_bits(a) >> 1)), half = 0.5f * a;
    for (int i = 0; i < 3; i++)
        y = y * (1.5f - half * y * y);
    return y;
}

static void attract(body *all, uint32_t size)
{
    for (uint32_t i = 0; i < size; i++)
        for (uint32_t j = i + 1; j < size; j++) {
            body *a = &all[i], *b = &all[j];
            float dx = a->x - b->x, dy = a->y - b->y, dz = a->z - b->z;
            float root = inverse_root(dx * dx + dy * dy + dz * dz + SOFTENING);
            float pull = root * root * root * STEP;
            float to_a = pull * b->mass, to_b = pull * a->mass;
            a->vx = a->vx - dx * to_a;
            a->vy = a->vy - dy * to_a;
            a->vz = a->vz - dz * to_a;
            b->vx = b->vx + dx * to_b;
            b->vy = b->vy + dy * to_b;
            b->vz = b->vz + dz * to_b;
        }
}

static void move(body *all, uint32_t size)
{
    for (body *a = all; a < all + size; a++) {
        a->x = a->x + a->vx * STEP;
        a->y = a->y + a->vy * STEP;
        a->z = a->z + a->vz * STEP;
    }
}

static float small(uint32_t *seed)
{
    return (float)(int32_t)bench_next(seed) * f32_from_bits(0x30000000u);
}

uint32_t bench_nbody(void *work, uint32_t size, uint32_t seed, uint32_t rounds)
{
    body *all = work;
    for (uint32_t i = 0; i < size; i++) {
        all[i] = (body){.x = small(&seed), .y = small(&seed), .z = small(&seed)};
        all[i].vx = all[i].vy = all[i].vz = 0.0f;
        all[i].mass = 2.0f + small(&seed);
    }
    for (uint32_t round = 0; round < rounds; round++) {
        attract(all, size);
        move(all, size);
    }
    uint32_t hash = seed;
    const float *values = work;
    for (uint32_t i = 0; i < 7 * size; i++)
        hash = bench_mix(hash, f32_bits(values[i]));
    return hash;
}
