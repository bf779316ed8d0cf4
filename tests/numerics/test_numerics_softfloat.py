"""The reference arithmetic against the host's double arithmetic.

A double holds the exact sum or product of most binary32 numbers, and for division and square root its 53
bits are enough that rounding twice cannot differ (53 >= 2 * 24 + 2), as long as the result is normal.
"""

from __future__ import annotations

import math
import struct
from fractions import Fraction

import pytest
from hypothesis import assume, given

from tests.numerics import softfloat as sf
from tests.numerics.patterns import EDGES, any_float, finite_float


def value(a: int) -> float:
    return struct.unpack("<f", struct.pack("<I", a))[0]


def rounded(x: float) -> int:
    if math.isnan(x):
        return sf.NAN
    try:
        return struct.unpack("<I", struct.pack("<f", x))[0]
    except OverflowError:
        return sf.INF | (sf.SIGN if x < 0 else 0)


def normal(a: int) -> bool:
    return 0x00800000 <= a & sf.MAGNITUDE < sf.INF


@given(any_float, any_float)
def test_add_and_sub(a, b):
    assert sf.add(a, b) == rounded(value(a) + value(b)) or is_lost(a, b)
    assert sf.sub(a, b) == rounded(value(a) - value(b)) or is_lost(a, b)


def is_lost(a: int, b: int) -> bool:
    """True when even a double cannot hold the exact sum."""
    return abs((a >> 23 & 0xFF) - (b >> 23 & 0xFF)) > 28


@given(finite_float, finite_float)
def test_add_is_the_rounding_of_the_exact_sum(a, b):
    exact = Fraction(value(a)) + Fraction(value(b))
    assume(exact != 0)
    assert sf.add(a, b) == nearest(exact)


def nearest(exact: Fraction) -> int:
    """Search by bisection over the ordered patterns: independent of how :func:`softfloat.pack` works."""
    size, sign = abs(exact), sf.SIGN if exact < 0 else 0
    low, high = 0, sf.INF
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if Fraction(value(middle)) <= size else (low, middle)
    upper = Fraction(2) ** 128 if high == sf.INF else Fraction(value(high))
    below, above = size - Fraction(value(low)), upper - size
    choice = low if below < above or (below == above and low % 2 == 0) else high
    return sign | choice


@given(finite_float, finite_float)
def test_mul_is_the_rounding_of_the_exact_product(a, b):
    exact = Fraction(value(a)) * Fraction(value(b))
    assume(exact != 0)
    assert sf.mul(a, b) == nearest(exact)


@given(any_float, any_float)
def test_mul(a, b):
    got = sf.mul(a, b)
    assert got == rounded(value(a) * value(b)) or not normal(got)


@given(finite_float, finite_float)
def test_div(a, b):
    assume(not sf.is_zero(b))
    assert sf.div(a, b) == nearest(Fraction(value(a)) / Fraction(value(b))) or sf.is_zero(a)


@given(any_float)
def test_sqrt(a):
    if a & sf.SIGN or sf.is_nan(a):
        assert sf.sqrt(a) == (a if a == sf.MINUS_ZERO else sf.NAN)
    else:
        assert sf.sqrt(a) == rounded(math.sqrt(value(a)))


@pytest.mark.parametrize("a", EDGES)
def test_parts_pack_to_the_same_pattern(a):
    if sf.is_finite(a):
        assert sf.pack(a & sf.SIGN, *sf.parts(a)) == a


def test_special_results():
    inf, minus_inf, zero = sf.INF, sf.INF | sf.SIGN, 0
    assert (
        sf.add(inf, minus_inf) == sf.mul(inf, zero) == sf.div(inf, minus_inf) == sf.div(zero, zero) == sf.NAN
    )
    assert sf.div(0xBF800000, zero) == minus_inf
    assert sf.add(sf.MINUS_ZERO, sf.MINUS_ZERO) == sf.MINUS_ZERO
    assert sf.sub(0x3F800000, 0x3F800000) == zero
    assert sf.mul(0x7F7FFFFF, 0x7F7FFFFF) == inf
    assert sf.less(sf.MINUS_ZERO, zero) is False
    assert sf.less(sf.NAN, inf) is False
