"""IEEE-754 binary32 and binary64 in Python integers: exact sums and products, then one rounding.

Every function takes and returns bit patterns as non-negative integers. ``mode``: 0 nearest even, 1 toward
zero, 2 toward +infinity, 3 toward -infinity (FCR.RoundMode). Every NaN result is :attr:`Format.nan`.
Nothing here uses the host's floating point, so it is the reference for everything that does.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

NEAREST, ZERO, UP, DOWN = range(4)


@dataclass(frozen=True)
class Format:
    """A binary interchange format: ``width`` bits, ``precision`` bits of significand with the hidden one."""

    width: int
    precision: int

    @cached_property
    def fraction(self) -> int:
        """Stored fraction bits."""
        return self.precision - 1

    @cached_property
    def fraction_mask(self) -> int:
        """Mask of the stored fraction."""
        return (1 << self.fraction) - 1

    @cached_property
    def exponent_mask(self) -> int:
        """The largest biased exponent (infinities and NaNs)."""
        return (1 << (self.width - self.precision)) - 1

    @cached_property
    def lowest(self) -> int:
        """Exponent of the least significant bit of subnormal numbers (-149 for binary32)."""
        return 2 - (self.exponent_mask >> 1) - self.precision

    @cached_property
    def sign(self) -> int:
        """The sign bit."""
        return 1 << (self.width - 1)

    @cached_property
    def inf(self) -> int:
        """+infinity."""
        return self.exponent_mask << self.fraction

    @cached_property
    def nan(self) -> int:
        """The only NaN that operations produce: positive, quiet, no payload."""
        return self.inf | (1 << (self.fraction - 1))

    def is_nan(self, x: int) -> bool:
        """Any NaN, quiet or signalling."""
        return (x & ~self.sign) > self.inf

    def unpack(self, x: int) -> tuple[int, int]:
        """Finite ``x`` as (signed significand, exponent): value = significand * 2**exponent."""
        biased = (x >> self.fraction) & self.exponent_mask
        significand = x & self.fraction_mask
        if biased:
            significand |= self.fraction_mask + 1
            biased -= 1
        return (-significand if x & self.sign else significand), biased + self.lowest

    def pack(self, negative: bool, magnitude: int, exponent: int, mode: int) -> int:
        """``(-1)**negative * magnitude * 2**exponent`` rounded once; magnitude may be 0 (signed zero)."""
        sign = self.sign if negative else 0
        if not magnitude:
            return sign
        drop = max(magnitude.bit_length() - self.precision, self.lowest - exponent)
        if drop > 0:
            magnitude = _round(magnitude, drop, negative, mode)
            exponent += drop
        else:
            magnitude <<= -drop
            exponent += drop
        # A subnormal that rounds up to the smallest normal, or a carry out of the significand, is
        # covered by adding the significand to the exponent field instead of masking it in.
        packed = ((exponent - self.lowest) << self.fraction) + magnitude
        return sign | (packed if packed < self.inf else self._overflow(negative, mode))

    def _overflow(self, negative: bool, mode: int) -> int:
        away = mode == NEAREST or mode == (DOWN if negative else UP)
        return self.inf if away else self.inf - 1


F32 = Format(32, 24)
F64 = Format(64, 53)
FORMATS = {32: F32, 64: F64}


def _round(magnitude: int, drop: int, negative: bool, mode: int) -> int:
    """``magnitude / 2**drop`` to an integer in the given mode."""
    kept = magnitude >> drop
    rest = magnitude & ((1 << drop) - 1)
    if not rest:
        return kept
    if mode == NEAREST:
        half = 1 << (drop - 1)
        return kept + (rest > half or (rest == half and kept & 1))
    return kept + (mode == (DOWN if negative else UP))


def add(f: Format, a: int, b: int, mode: int) -> int:
    """``a + b``."""
    if f.is_nan(a) or f.is_nan(b):
        return f.nan
    a_inf, b_inf = a & ~f.sign == f.inf, b & ~f.sign == f.inf
    if a_inf or b_inf:
        if a_inf and b_inf and a != b:
            return f.nan
        return a if a_inf else b
    return _sum(f, f.unpack(a), a >= f.sign, f.unpack(b), b >= f.sign, mode)


def sub(f: Format, a: int, b: int, mode: int) -> int:
    """``a - b``."""
    return add(f, a, b if f.is_nan(b) else b ^ f.sign, mode)


def _sum(
    f: Format, x: tuple[int, int], x_negative: bool, y: tuple[int, int], y_negative: bool, mode: int
) -> int:
    """Exact sum of two finite numbers, rounded once; the signs matter for zeros."""
    low = min(x[1], y[1])
    total = (x[0] << (x[1] - low)) + (y[0] << (y[1] - low))
    if total:
        return f.pack(total < 0, abs(total), low, mode)
    if x_negative == y_negative:
        return f.sign if x_negative else 0
    return f.sign if mode == DOWN else 0


def mul(f: Format, a: int, b: int, mode: int) -> int:
    """``a * b``."""
    negative = bool((a ^ b) & f.sign)
    product = _product_special(f, a, b)
    if product is not None:
        return product
    (x, ex), (y, ey) = f.unpack(a), f.unpack(b)
    return f.pack(negative, abs(x * y), ex + ey, mode)


def _product_special(f: Format, a: int, b: int) -> int | None:
    """The product when it is a NaN or an infinity without rounding, else None."""
    if f.is_nan(a) or f.is_nan(b):
        return f.nan
    magnitude_a, magnitude_b = a & ~f.sign, b & ~f.sign
    if magnitude_a != f.inf and magnitude_b != f.inf:
        return None
    if not magnitude_a or not magnitude_b:
        return f.nan
    return f.inf | ((a ^ b) & f.sign)


def fma(f: Format, a: int, b: int, c: int, mode: int) -> int:
    """``a * b + c`` rounded once."""
    if f.is_nan(c):
        return f.nan
    special = _product_special(f, a, b)
    if special is not None:
        return add(f, special, c, mode)
    if c & ~f.sign == f.inf:
        return c
    (x, ex), (y, ey) = f.unpack(a), f.unpack(b)
    return _sum(f, (x * y, ex + ey), bool((a ^ b) & f.sign), f.unpack(c), c >= f.sign, mode)


def equal(f: Format, a: int, b: int) -> bool:
    """Ordered equal; -0 equals +0."""
    if f.is_nan(a) or f.is_nan(b):
        return False
    return a == b or not (a | b) & ~f.sign


def less(f: Format, a: int, b: int) -> bool:
    """Ordered less than."""
    if f.is_nan(a) or f.is_nan(b):
        return False
    return _order(f, a) < _order(f, b)


def _order(f: Format, x: int) -> int:
    magnitude = x & ~f.sign
    return -magnitude if x & f.sign else magnitude


_HOW = {"even": NEAREST, "zero": ZERO, "up": UP, "down": DOWN}


def round_integral(f: Format, x: int, how: str) -> int:
    """The nearest integral value in the direction ``how``; the sign of a zero result is that of ``x``."""
    if f.is_nan(x):
        return f.nan
    negative = bool(x & f.sign)
    if x & ~f.sign == f.inf:
        return x
    significand, exponent = f.unpack(x)
    if exponent >= 0:
        return x
    return f.pack(negative, _round(abs(significand), -exponent, negative, _HOW[how]), 0, NEAREST)


def to_int(f: Format, x: int, low: int, high: int) -> int:
    """Toward zero, saturating to ``low..high``; NaN gives 0."""
    if f.is_nan(x):
        return 0
    if x & ~f.sign == f.inf:
        return low if x & f.sign else high
    significand, exponent = f.unpack(x)
    magnitude = abs(significand)
    magnitude = magnitude << exponent if exponent >= 0 else magnitude >> -exponent
    return max(low, min(high, -magnitude if x & f.sign else magnitude))


def from_int(f: Format, value: int, mode: int) -> int:
    """A Python integer rounded to ``f``; 0 gives +0."""
    return f.pack(value < 0, abs(value), 0, mode)


def resize(source: Format, target: Format, x: int, mode: int) -> int:
    """The value of ``x`` in another format."""
    if source.is_nan(x):
        return target.nan
    negative = bool(x & source.sign)
    if x & ~source.sign == source.inf:
        return target.inf | (target.sign if negative else 0)
    significand, exponent = source.unpack(x)
    return target.pack(negative, abs(significand), exponent, mode)
