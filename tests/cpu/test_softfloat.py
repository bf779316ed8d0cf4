"""Softfloat against exact rationals: the result must be the right neighbour, in every rounding mode."""

from __future__ import annotations

import struct
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from emu.cpu import softfloat as sf
from emu.cpu.softfloat import DOWN, F32, F64, NEAREST, UP, ZERO, Format

MODES = (NEAREST, ZERO, UP, DOWN)


def edges(f: Format) -> list[int]:
    """Bit patterns around every border of the format, positive."""
    one = (f.exponent_mask >> 1) << f.fraction
    points = [0, 1, 2, f.fraction_mask, f.fraction_mask + 1, one, f.inf - 1, f.inf, f.nan, f.inf + 1]
    points += [one + (k << f.fraction) for k in (-f.precision, -1, 1, f.precision - 1, f.precision)]
    return sorted({p + d for p in points for d in (-1, 0, 1) if 0 <= p + d < f.sign})


def patterns(f: Format) -> st.SearchStrategy[int]:
    """Any bit pattern, with borders and short fractions (ties) drawn often."""
    signs = st.sampled_from([0, f.sign])
    borders = st.builds(int.__or__, signs, st.sampled_from(edges(f)))
    short = st.builds(
        lambda s, e, top: s | e << f.fraction | top << (f.fraction - 4),
        signs,
        st.integers(0, f.exponent_mask - 1),
        st.integers(0, 15),
    )
    return st.one_of(borders, short, st.integers(0, 2 * f.sign - 1))


def exact(f: Format, x: int) -> Fraction:
    """Value of a finite pattern, decoded here by the text of the standard."""
    biased, fraction = x >> f.fraction & f.exponent_mask, x & f.fraction_mask
    bias = f.exponent_mask >> 1
    if biased:
        value = (1 + Fraction(fraction, 1 << f.fraction)) * Fraction(2) ** (biased - bias)
    else:
        value = Fraction(fraction, 1 << f.fraction) * Fraction(2) ** (1 - bias)
    return -value if x & f.sign else value


def is_finite(f: Format, x: int) -> bool:
    return (x & ~f.sign) < f.inf


def assert_rounded(f: Format, value: Fraction, result: int, mode: int) -> None:
    """``result`` is ``value`` (not 0) rounded in ``mode``: judged by its neighbours, not by computing it."""
    assert bool(result & f.sign) == (value < 0)
    negative, magnitude, r = value < 0, abs(value), result & ~f.sign
    assert r <= f.inf
    away = mode == (DOWN if negative else UP)
    infinity = Fraction(2) ** (
        (f.exponent_mask >> 1) + 1
    )  # the first number that would need a larger exponent
    if magnitude >= infinity:
        assert r == (f.inf if away or mode == NEAREST else f.inf - 1)
        return
    low, high = r, r
    above = exact(f, r) if r < f.inf else infinity
    if above > magnitude:
        low = r - 1
    elif above < magnitude:
        high = r + 1
    if low == high:
        return
    assert 0 <= low < high <= f.inf
    floor = exact(f, low)
    ceiling = exact(f, high) if high < f.inf else infinity
    assert floor < magnitude < ceiling
    if mode == NEAREST:
        twice = 2 * magnitude - floor - ceiling
        want = low if twice < 0 else high if twice > 0 else (low if low % 2 == 0 else high)
    else:
        want = high if away else low
    assert r == want


def assert_sum(f: Format, parts: list[int], value: Fraction, result: int, mode: int) -> None:
    if value:
        assert_rounded(f, value, result, mode)
    elif len({x & f.sign for x in parts}) == 1:
        assert result == parts[0] & f.sign
    else:
        assert result == (f.sign if mode == DOWN else 0)


@pytest.mark.parametrize("f", [F32, F64])
@given(data=st.data())
def test_add_sub_mul_fma_round_to_the_right_neighbour(f: Format, data: st.DataObject) -> None:
    a, b, c = (data.draw(patterns(f).filter(lambda x: is_finite(f, x))) for _ in range(3))
    for mode in MODES:
        x, y, z = exact(f, a), exact(f, b), exact(f, c)
        assert_sum(f, [a, b], x + y, sf.add(f, a, b, mode), mode)
        assert_sum(f, [a, b ^ f.sign], x - y, sf.sub(f, a, b, mode), mode)
        product = sf.mul(f, a, b, mode)
        if x * y:
            assert_rounded(f, x * y, product, mode)
        else:
            assert product == (a ^ b) & f.sign
        sign = (a ^ b) & f.sign
        assert_sum(f, [sign, c], x * y + z, sf.fma(f, a, b, c, mode), mode)


@pytest.mark.parametrize(("f", "dtype"), [(F32, np.float32), (F64, np.float64)])
@given(data=st.data())
def test_agrees_with_the_host(f: Format, dtype: type, data: st.DataObject) -> None:
    a, b = data.draw(patterns(f)), data.draw(patterns(f))
    with np.errstate(all="ignore"):
        x, y = (np.array(v, f"u{f.width // 8}").view(dtype) for v in (a, b))
        wants = {sf.add: x + y, sf.sub: x - y, sf.mul: x * y}
        for function, want in wants.items():
            got = function(f, a, b, NEAREST)
            assert got == (f.nan if np.isnan(want) else int(want.view(f"u{f.width // 8}"))), function
    assert sf.equal(f, a, b) == bool(x == y)
    assert sf.less(f, a, b) == bool(x < y)


@pytest.mark.parametrize("f", [F32, F64])
def test_special_operands(f: Format) -> None:
    inf, nan, one = f.inf, f.nan, (f.exponent_mask >> 1) << f.fraction
    signalling = inf | 1
    for mode in MODES:
        assert sf.add(f, inf, inf | f.sign, mode) == nan
        assert sf.sub(f, inf, inf, mode) == nan
        assert sf.add(f, inf, f.inf - 1 | f.sign, mode) == inf
        assert sf.mul(f, 0, inf, mode) == nan
        assert sf.mul(f, inf | f.sign, one, mode) == inf | f.sign
        assert sf.fma(f, 0, inf, one, mode) == nan
        assert sf.fma(f, inf, one, inf | f.sign, mode) == nan
        assert sf.fma(f, one, one, inf | f.sign, mode) == inf | f.sign
        for x in (signalling, signalling | f.sign, nan | f.sign, nan | 5):
            assert sf.add(f, x, one, mode) == sf.sub(f, one, x, mode) == sf.mul(f, x, x, mode) == nan
            assert sf.fma(f, one, one, x, mode) == sf.fma(f, x, one, one, mode) == nan
            assert not sf.equal(f, x, x)


def test_contraction_example() -> None:
    a, c = 0x3F800001, 0xBF800002
    assert sf.fma(F32, a, a, c, NEAREST) == 0x28800000
    assert sf.add(F32, sf.mul(F32, a, a, NEAREST), c, NEAREST) == 0


@given(x=patterns(F32))
def test_round_integral(x: int) -> None:
    for how, mode in (("even", NEAREST), ("zero", ZERO), ("up", UP), ("down", DOWN)):
        got = sf.round_integral(F32, x, how)
        if not is_finite(F32, x):
            assert got == (F32.nan if F32.is_nan(x) else x)
            continue
        value = exact(F32, x)
        floor = value.numerator // value.denominator
        wants = {
            UP: -((-value.numerator) // value.denominator),
            DOWN: floor,
            ZERO: int(value),
            NEAREST: round(value),
        }
        assert exact(F32, got) == wants[mode]
        assert got & F32.sign == x & F32.sign


@pytest.mark.parametrize(
    ("value", "want"),
    [
        (3e9, 0x7FFFFFFF),
        (-3e9, -0x80000000),
        (2147483648.0, 0x7FFFFFFF),
        (float("nan"), 0),
        (-0.75, 0),
        (2.9, 2),
    ],
)
def test_to_signed(value: float, want: int) -> None:
    x = struct.unpack("<I", struct.pack("<f", value))[0]
    assert sf.to_int(F32, x, -(1 << 31), (1 << 31) - 1) == want


@given(x=patterns(F32), mode=st.sampled_from(MODES))
def test_resize_round_trip(x: int, mode: int) -> None:
    wide = sf.resize(F32, F64, x, mode)
    assert sf.resize(F64, F32, wide, mode) == (F32.nan if F32.is_nan(x) else x)


@given(x=patterns(F64).filter(lambda x: is_finite(F64, x) and x & ~F64.sign), mode=st.sampled_from(MODES))
def test_narrowing_rounds(x: int, mode: int) -> None:
    assert_rounded(F32, exact(F64, x), sf.resize(F64, F32, x, mode), mode)


@given(value=st.integers(-(1 << 64), 1 << 64).filter(bool), mode=st.sampled_from(MODES))
def test_from_int_rounds(value: int, mode: int) -> None:
    assert_rounded(F32, Fraction(value), sf.from_int(F32, value, mode), mode)
