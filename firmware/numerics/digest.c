/* Stage digests. numerics.md section 11. */
#include "digest.h"
#include "emu_kernels.h"

void digest_f32(const float *x, int32_t n, uint32_t first, uint64_t *acc)
{
    uint64_t sum = *acc;
    for (int32_t i = 0; i < n; i++)
        sum += digest_mix(first + (uint32_t)i, digest_bits(x[i]));
    *acc = sum;
}

void digest_s8(const int8_t *x, int32_t n, uint32_t first, uint64_t *acc)
{
    digest_u8((const uint8_t *)x, n, first, acc);
}

void digest_u8(const uint8_t *x, int32_t n, uint32_t first, uint64_t *acc)
{
    uint64_t sum = *acc;
    for (int32_t i = 0; i < n; i++)
        sum += digest_mix(first + (uint32_t)i, x[i]);
    *acc = sum;
}

void digest_s32(const int32_t *x, int32_t n, uint32_t first, uint64_t *acc)
{
    uint64_t sum = *acc;
    for (int32_t i = 0; i < n; i++)
        sum += digest_mix(first + (uint32_t)i, (uint32_t)x[i]);
    *acc = sum;
}

void digest_end(uint32_t n, uint32_t type, uint64_t *acc)
{
    *acc += digest_mix(n, type);
}
