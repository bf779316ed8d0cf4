/* Square root, correctly rounded. numerics.md section 1.
 *
 * Restoring square root by digits: 25 root bits and the remainder are exact, so one rounding decision is all
 * there is. A root is taken once per row or pair of normals, never per product: exact by construction beats fast.
 */
#include "arith.h"
#include "significand.h"

/* floor(sqrt(v * 2^26)) and a sticky bit, as 26 bits, for v in [2^23, 2^25). */
static uint32_t root_26(uint32_t v)
{
    uint32_t root = 0, twice = 0, rest = v << 1;
    for (uint32_t bit = 1u << 24; bit != 0; bit >>= 1) {
        uint32_t trial = twice + bit;
        if (trial <= rest) {
            twice = trial + bit;
            rest -= trial;
            root += bit;
        }
        rest <<= 1;
    }
    return (root << 1) | (rest != 0);
}

float sqrt_f32(float x)
{
    uint32_t bits = f32_bits(x);
    if (bits == 0x80000000u || bits == 0 || bits == F32_INFINITY_BITS)
        return x;
    if (bits > F32_INFINITY_BITS)
        return f32_from_bits(F32_NAN_BITS);
    significand whole = split_f32(x);
    uint32_t odd = (uint32_t)whole.exponent & 1u;
    return join_f32(0, (whole.exponent - (int32_t)odd) / 2, root_26(whole.bits << odd));
}

#ifdef __XTENSA__
float sqrtf(float x) __attribute__((alias("sqrt_f32")));
#endif
