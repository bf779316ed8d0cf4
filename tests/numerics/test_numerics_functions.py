"""Compiled building blocks against the reference, bit for bit: Hypothesis, and thousands in bulk."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from emu.numerics import activations, exponential, half, logarithm, random, rounding, tables, trigonometry
from emu.numerics import bits as compiled_bits
from tests.numerics import reference
from tests.numerics.compiled import bits, f32, unary
from tests.numerics.patterns import any_float, bulk, everyday, finite_float
from tests.numerics.softfloat import is_finite

VALUE, SLOPE = tables.gelu_tables()
VALUE_BITS, SLOPE_BITS = VALUE.view(np.uint32).tolist(), SLOPE.view(np.uint32).tolist()
words = st.integers(0, 0xFFFFFFFF)

unit_float = st.integers(0, 0x3F7FFFFF)
ln_float = st.integers(0x00800000, 0x3F800000)


@given(finite_float)
def test_rne(x):
    assert int(rounding.rne(f32(x))) == reference.rne(x)


def test_rne_bulk():
    for x in filter(is_finite, bulk(20_000, 1) + everyday(5_000, 2, 4e6)):
        assert int(rounding.rne(f32(x))) == reference.rne(x), hex(x)


@given(st.integers(-(2**23), 2**23))
def test_rne_is_exact_on_halves_up_to_2_to_22(n):
    from fractions import Fraction

    x = np.float32(n / 2)
    assert int(rounding.rne(x)) == round(Fraction(n, 2))


@given(any_float)
def test_exp(x):
    assert unary(exponential.exp_f32, x) == reference.exp_f32(x)


def test_exp_bulk():
    for x in bulk(5_000, 3) + everyday(15_000, 4, 90):
        assert unary(exponential.exp_f32, x) == reference.exp_f32(x), hex(x)


@given(ln_float)
def test_ln(u):
    assert unary(logarithm.ln_f32, u) == reference.ln_f32(u)


def test_ln_bulk():
    for u in bulk(10_000, 5, 0x00800000, 0x3F800000) + bulk(5_000, 6, 0x3F000000, 0x3F800000):
        assert unary(logarithm.ln_f32, u) == reference.ln_f32(u), hex(u)


def both(pair: tuple[np.float32, np.float32]) -> tuple[int, int]:
    return bits(pair[0]), bits(pair[1])


@given(unit_float)
def test_sincos(u):
    assert both(trigonometry.sincos_turn(f32(u))) == reference.sincos_turn(u)


def test_sincos_bulk():
    for u in bulk(10_000, 7, 0, 0x3F7FFFFF) + bulk(10_000, 8, 0x3D800000, 0x3F7FFFFF):
        assert both(trigonometry.sincos_turn(f32(u))) == reference.sincos_turn(u), hex(u)


@given(st.floats(0, 8388607, width=32), st.floats(0, 1, width=32))
def test_turns(p, f):
    p_bits, f_bits = bits(p), bits(f)
    assert unary(lambda x: trigonometry.turns(x, np.float32(f)), p_bits) == reference.turns(p_bits, f_bits)


@given(any_float)
def test_gelu(x):
    assert unary(lambda v: activations.gelu(v, VALUE, SLOPE), x) == reference.gelu(x, VALUE_BITS, SLOPE_BITS)


def test_gelu_bulk():
    for x in bulk(5_000, 9) + everyday(15_000, 10, 7):
        got = bits(activations.gelu(f32(x), VALUE, SLOPE))
        assert got == reference.gelu(x, VALUE_BITS, SLOPE_BITS), hex(x)


@given(any_float)
def test_silu(x):
    assert unary(activations.silu, x) == reference.silu(x)


def test_silu_bulk():
    for x in bulk(5_000, 11) + everyday(15_000, 12, 90):
        assert unary(activations.silu, x) == reference.silu(x), hex(x)


@given(any_float)
def test_relu(x):
    keeps = x & 0x80000000 == 0 and 0 < x <= 0x7F800000
    assert unary(activations.relu, x) == (x if keeps else 0)


@given(words)
def test_canonical_bits(x):
    is_nan = x & 0x7FFFFFFF > 0x7F800000
    assert int(compiled_bits.canonical_bits(np.uint32(x))) == (0x7FC00000 if is_nan else x)


@given(words)
def test_random_words(x):
    assert int(random.fmix32(np.uint32(x))) == reference.fmix32(x)
    assert int(random.xorshift32(np.uint32(x))) == reference.xorshift32(x)


@given(st.integers(1, 0xFFFFFFFF))
def test_normal_pair(state):
    s, z0, z1 = random.normal_pair(np.uint32(state))
    assert (int(s), bits(z0), bits(z1)) == reference.normal_pair(state)


@pytest.mark.parametrize(
    "h", [0, 1, 0x3FF, 0x400, 0x301D, 0x3C00, 0x7BFF, 0x7C00, 0x7C01, 0x8000, 0xFC00, 0xFE00]
)
def test_widen_f16_edges(h):
    assert bits(half.widen_f16(np.uint16(h))) == reference.widen_f16(h)


def test_widen_f16_all():
    with np.errstate(invalid="ignore"):
        numpy = np.arange(0x10000, dtype=np.uint16).view(np.float16).astype(np.float32)
    for h in range(0x10000):
        got = bits(half.widen_f16(np.uint16(h)))
        assert got == reference.widen_f16(h) == bits(numpy[h]), hex(h)
