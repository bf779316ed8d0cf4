/* Division, correctly rounded. numerics.md section 1.
 *
 * Long division of the significands in base 256 with the core's 32-bit divide: the 25 quotient bits and the
 * remainder are exact, so one rounding decision is all there is. No floating-point operation is used.
 */
#include "arith.h"
#include "significand.h"

/* Quotients with a zero, an infinity or a NaN on either side. */
static float div_special(uint32_t a, uint32_t b, uint32_t sign)
{
    uint32_t top = a & 0x7FFFFFFFu, bottom = b & 0x7FFFFFFFu;
    if (top > F32_INFINITY_BITS || bottom > F32_INFINITY_BITS || (top == bottom))
        return f32_from_bits(F32_NAN_BITS);
    if (top == F32_INFINITY_BITS || bottom == 0)
        return f32_from_bits(sign | F32_INFINITY_BITS);
    return f32_from_bits(sign);
}

/* top / bottom in [1, 2) as 25 bits; a set lowest bit of the result says that digits were cut off. */
static uint32_t quotient_26(uint32_t top, uint32_t bottom)
{
    uint32_t quotient = 1, rest = top - bottom;
    for (int digit = 0; digit < 3; digit++) {
        rest <<= 8;
        uint32_t next = rest / bottom;
        rest -= next * bottom;
        quotient = (quotient << 8) | next;
    }
    return (quotient << 1) | (rest != 0);
}

float div_f32(float a, float b)
{
    uint32_t sign = (f32_bits(a) ^ f32_bits(b)) & 0x80000000u;
    if (is_special(a) || is_special(b))
        return div_special(f32_bits(a), f32_bits(b), sign);
    significand top = split_f32(a), bottom = split_f32(b);
    int32_t exponent = top.exponent - bottom.exponent;
    if (top.bits < bottom.bits) {
        top.bits <<= 1;
        exponent -= 1;
    }
    return join_f32(sign, exponent, quotient_26(top.bits, bottom.bits));
}

#ifdef __XTENSA__
float __divsf3(float a, float b) __attribute__((alias("div_f32")));
#endif
