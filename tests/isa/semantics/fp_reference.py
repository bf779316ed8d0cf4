"""What IEEE-754 says about binary32, in exact fractions: value and flags of one rounding, in all four modes.

Written for the tests alone; it shares nothing with the emulator.
"""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

INEXACT, UNDERFLOW, OVERFLOW, DIVZERO, INVALID = 1, 2, 4, 8, 16
NAN, INF, SIGN = 0x7FC00000, 0x7F800000, 0x80000000
NEAREST, ZERO, UP, DOWN = range(4)


def is_nan(x: int) -> bool:
    return x & 0x7FFFFFFF > INF


def is_inf(x: int) -> bool:
    return x & 0x7FFFFFFF == INF


def is_signalling(x: int) -> bool:
    return is_nan(x) and not x & 0x400000


def value(x: int) -> Fraction:
    """Exact value of a finite binary32."""
    exponent, fraction = x >> 23 & 255, x & 0x7FFFFF
    magnitude = Fraction(fraction | (0x800000 if exponent else 0)) * Fraction(2) ** (max(exponent, 1) - 150)
    return -magnitude if x & SIGN else magnitude


def _integer(x: Fraction, mode: int) -> int:
    """x >= 0 to an integer; mode for magnitudes: NEAREST, ZERO (down) or UP (away)."""
    whole, rest = divmod(x.numerator, x.denominator)
    if mode == NEAREST:
        twice = 2 * rest
        return whole + (twice > x.denominator or (twice == x.denominator and whole % 2))
    return whole + (mode == UP and rest != 0)


def _exponent(x: Fraction) -> int:
    """floor(log2(x)) for x > 0."""
    guess = x.numerator.bit_length() - x.denominator.bit_length()
    return guess if Fraction(2) ** guess <= x else guess - 1


def round32(x: Fraction, mode: int, negative_zero: bool = False) -> tuple[int, int]:
    """Bits and flags of rounding an exact value; ``negative_zero``: the sign when x is 0."""
    if x == 0:
        return (SIGN if negative_zero else 0), 0
    negative, x = x < 0, abs(x)
    sign = SIGN if negative else 0
    way = {NEAREST: NEAREST, ZERO: ZERO, UP: ZERO if negative else UP, DOWN: UP if negative else ZERO}[mode]
    exponent = _exponent(x)
    unbounded = _integer(x / Fraction(2) ** (exponent - 23), way) * Fraction(2) ** (exponent - 23)
    tiny = unbounded < Fraction(2) ** -126
    unit = Fraction(2) ** (max(exponent, -126) - 23)
    units = _integer(x / unit, way)
    result = units * unit
    if unbounded >= Fraction(2) ** 128:
        return sign | (INF if way != ZERO else INF - 1), OVERFLOW | INEXACT
    flags = INEXACT if result != x else 0
    if tiny and flags:
        flags |= UNDERFLOW
    if result >= Fraction(2) ** -126:
        e = _exponent(result)
        return sign | (e + 127) << 23 | int(result / Fraction(2) ** (e - 23)) & 0x7FFFFF, flags
    return sign | int(result / Fraction(2) ** -149), flags


def choose_nan(*operands: int) -> int:
    """The first NaN in order of precedence, made quiet."""
    return next(x | 0x400000 for x in operands if is_nan(x))


def add(a: int, b: int, mode: int) -> tuple[int, int]:
    """a + b."""
    if is_nan(a) or is_nan(b):
        return choose_nan(b, a), INVALID * (is_signalling(a) or is_signalling(b))
    if is_inf(a) or is_inf(b):
        if is_inf(a) and is_inf(b) and a != b:
            return NAN, INVALID
        return (a if is_inf(a) else b), 0
    both = a & b & SIGN
    either = (a | b) & SIGN
    total = value(a) + value(b)
    zero_sign = (
        bool(both) if not (value(a) or value(b)) and not (a ^ b) & SIGN else bool(mode == DOWN and either)
    )
    return round32(total, mode, zero_sign)


def multiply(a: int, b: int, mode: int) -> tuple[int, int]:
    """a * b."""
    sign = (a ^ b) & SIGN
    if is_nan(a) or is_nan(b):
        return choose_nan(b, a), INVALID * (is_signalling(a) or is_signalling(b))
    if is_inf(a) or is_inf(b):
        if not (a & ~SIGN and b & ~SIGN):
            return NAN, INVALID
        return sign | INF, 0
    return round32(value(a) * value(b), mode, bool(sign))


def multiply_add(c: int, a: int, b: int, mode: int, negate: bool = False) -> tuple[int, int]:
    """c + a * b, or c - a * b, rounded once."""
    lost = not is_nan(a) and not is_nan(b) and is_nan(multiply(a, b, NEAREST)[0])
    if is_nan(a) or is_nan(b) or is_nan(c):
        loud = is_signalling(a) or is_signalling(b) or is_signalling(c)
        return choose_nan(c, b, a), INVALID * (loud or lost)
    if lost:
        return NAN, INVALID
    sign = (a ^ b) & SIGN ^ (SIGN if negate else 0)
    if is_inf(a) or is_inf(b):
        return (NAN, INVALID) if is_inf(c) and c & SIGN != sign else (sign | INF, 0)
    if is_inf(c):
        return c, 0
    product = value(a) * value(b) * (-1 if negate else 1)
    total = value(c) + product
    if total or product:
        return round32(total, mode, mode == DOWN)
    same = c & SIGN == sign
    return (sign if same else SIGN if mode == DOWN else 0), 0


def divide(a: int, b: int, mode: int) -> tuple[int, int]:
    """a / b."""
    sign = (a ^ b) & SIGN
    if is_nan(a) or is_nan(b):
        return choose_nan(b, a), INVALID * (is_signalling(a) or is_signalling(b))
    if (is_inf(a) and is_inf(b)) or not ((a | b) & ~SIGN):
        return NAN, INVALID
    if is_inf(a) or not b & ~SIGN:
        return sign | INF, 0 if is_inf(a) else DIVZERO
    if is_inf(b):
        return sign, 0
    return round32(value(a) / value(b), mode, bool(sign))


def square_root(a: int, mode: int) -> tuple[int, int]:
    """sqrt(a); a root with sticky bits far behind the last place stands for the irrational one."""
    if is_nan(a):
        return choose_nan(a), INVALID * is_signalling(a)
    if not a & ~SIGN or a == INF:
        return a, 0
    if a & SIGN:
        return NAN, INVALID
    x = value(a)
    scaled = x * Fraction(4) ** 200
    root = isqrt(int(scaled))
    exact = root * root == scaled
    return round32(Fraction(2 * root + (not exact), 2) / Fraction(2) ** 200, mode)
