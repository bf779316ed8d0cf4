"""IEEE binary32 on bit patterns with Python integers only: the arithmetic under the reference implementation.

Slow, exact, and without numpy, numba or the host's floating point. A number is its 32-bit pattern; every
operation rounds once, to nearest, ties to even. A NaN result is always 0x7FC00000.
"""

from __future__ import annotations

from math import isqrt

NAN, INF, MINUS_ZERO = 0x7FC00000, 0x7F800000, 0x80000000
SIGN, MAGNITUDE = 0x80000000, 0x7FFFFFFF


def is_nan(a: int) -> bool:
    return a & MAGNITUDE > INF


def is_inf(a: int) -> bool:
    return a & MAGNITUDE == INF


def is_finite(a: int) -> bool:
    return a & MAGNITUDE < INF


def is_zero(a: int) -> bool:
    return a & MAGNITUDE == 0


def parts(a: int) -> tuple[int, int]:
    """(mantissa, exponent) of a finite number: |a| = mantissa * 2^exponent."""
    field, fraction = a >> 23 & 0xFF, a & 0x7FFFFF
    return (fraction, -149) if field == 0 else (fraction | 0x800000, field - 150)


def pack(sign: int, mantissa: int, exponent: int) -> int:
    """Round mantissa * 2^exponent (an exact non-negative number) to a pattern; ``sign`` is 0 or SIGN."""
    last = max(exponent + mantissa.bit_length() - 24, -149)
    shift = last - exponent
    if shift <= 0:
        kept = mantissa << -shift
    else:
        kept, rest, half = mantissa >> shift, mantissa & ((1 << shift) - 1), 1 << (shift - 1)
        kept += rest > half or (rest == half and kept & 1 == 1)
    if kept == 1 << 24:
        kept, last = 1 << 23, last + 1
    if kept < 1 << 23:
        return sign | kept
    return sign | (INF if last + 150 >= 255 else (last + 150) << 23 | (kept - 0x800000))


def from_int(n: int) -> int:
    return pack(SIGN if n < 0 else 0, abs(n), 0)


def truncate(a: int) -> int:
    """Towards zero, a finite number."""
    mantissa, exponent = parts(a)
    size = mantissa << exponent if exponent >= 0 else mantissa >> -exponent
    return signed(a, size)


def neg(a: int) -> int:
    return a ^ SIGN


def signed(a: int, size: int) -> int:
    """``size`` with the sign of ``a``."""
    return -size if a & SIGN else size


def add(a: int, b: int) -> int:
    if is_nan(a) or is_nan(b) or (is_inf(a) and is_inf(b) and a != b):
        return NAN
    if is_inf(a) or is_inf(b):
        return a if is_inf(a) else b
    if is_zero(a) and is_zero(b):
        return a & b
    (ma, ea), (mb, eb) = parts(a), parts(b)
    low = min(ea, eb)
    total = signed(a, ma << (ea - low)) + signed(b, mb << (eb - low))
    return pack(SIGN if total < 0 else 0, abs(total), low)


def sub(a: int, b: int) -> int:
    return add(a, b if is_nan(b) else neg(b))


def mul(a: int, b: int) -> int:
    sign = (a ^ b) & SIGN
    if is_nan(a) or is_nan(b) or (is_inf(a) and is_zero(b)) or (is_zero(a) and is_inf(b)):
        return NAN
    if is_inf(a) or is_inf(b):
        return sign | INF
    (ma, ea), (mb, eb) = parts(a), parts(b)
    return pack(sign, ma * mb, ea + eb)


def fused(a: int, b: int, c: int) -> int:
    """a * b + c with one rounding (finite numbers, non-zero sum): what the contract forbids."""
    (ma, ea), (mb, eb), (mc, ec) = parts(a), parts(b), parts(c)
    low = min(ea + eb, ec)
    total = signed(a ^ b, ma * mb << (ea + eb - low)) + signed(c, mc << (ec - low))
    return pack(SIGN if total < 0 else 0, abs(total), low)


def div(a: int, b: int) -> int:
    sign = (a ^ b) & SIGN
    if is_nan(a) or is_nan(b) or (is_inf(a) and is_inf(b)) or (is_zero(a) and is_zero(b)):
        return NAN
    if is_inf(a) or is_zero(b):
        return sign | INF
    if is_inf(b) or is_zero(a):
        return sign
    (ma, ea), (mb, eb) = parts(a), parts(b)
    quotient, rest = divmod(ma << 60, mb)
    return pack(sign, quotient << 1 | (rest != 0), ea - eb - 61)


def sqrt(a: int) -> int:
    if is_zero(a) or a == INF:
        return a
    if is_nan(a) or a & SIGN:
        return NAN
    mantissa, exponent = parts(a)
    mantissa <<= 60 + (exponent & 1)
    root = isqrt(mantissa)
    return pack(0, root << 1 | (root * root != mantissa), (exponent - 60 - (exponent & 1)) // 2 - 1)


def order(a: int) -> int:
    """A key that orders numbers (not NaN) like their values; -0 and +0 are equal."""
    return -(a & MAGNITUDE) if a & SIGN else a


def less(a: int, b: int) -> bool:
    """a < b, false when either is NaN."""
    return not (is_nan(a) or is_nan(b)) and order(a) < order(b)


def canonical(a: int) -> int:
    return NAN if is_nan(a) else a
