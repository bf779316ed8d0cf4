"""Random streams against the reference, and the faults that generators of normals have had elsewhere."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from emu.numerics import random as rng_blocks
from tests.kernels.calls import KERNELS, draw, words
from tests.numerics import reference
from tests.numerics.compiled import bits, patterns

N32 = np.int32


def stream(symbol: str, state: int, n: int, dtype: type = np.float32) -> tuple[int, list[int]]:
    """(last state, n outputs as words)."""
    s, y = np.array([state], np.uint32), np.zeros(n, dtype)
    KERNELS[symbol].mirror(s, y, N32(n))
    return int(s[0]), patterns(y) if dtype is np.float32 else y.tolist()


@given(st.integers(0, 0xFFFFFFFF), st.integers(0, 40))
def test_xorshift_stream(state, n):
    s, want = state or 0x9E3779B9, []
    for _ in range(n):
        s = reference.xorshift32(s)
        want.append(s)
    assert stream("xorshift32_array", state, n, np.uint32) == (s, want)


@given(st.integers(0, 0xFFFFFFFF), st.integers(0, 40))
def test_normal_stream(state, n):
    assert stream("normal_array", state, n) == reference.normals(state, n)


def test_normal_stream_in_bulk():
    assert stream("normal_array", 1, 6_000) == reference.normals(1, 6_000)


def test_an_odd_length_consumes_the_same_words():
    for n in (1, 3, 15, 17):
        assert stream("normal_array", 9, n)[0] == stream("normal_array", 9, n + 1)[0]


def test_pieces_of_even_length_continue_the_stream():
    whole = stream("normal_array", 5, 64)[1]
    state, first = stream("normal_array", 5, 30)
    assert first + stream("normal_array", state, 34)[1] == whole


def test_fmix32():
    for seed in range(20):
        call = draw("fmix32_array", seed)
        x = call.array("x").tolist()
        call.run()
        assert call.array("y").tolist() == [reference.fmix32(v) for v in x]


def test_state_never_becomes_zero():
    for s in [1, 0x80000000, 0xFFFFFFFF, *(1 << k for k in range(32))]:
        assert reference.xorshift32(s) != 0
        assert int(rng_blocks.xorshift32(np.uint32(s))) != 0


def test_the_state_has_32_bits():
    """A generator kept in 64 bits would not drop what the left shifts push out."""
    s = wide = 0x80000001
    for _ in range(2):
        s = reference.xorshift32(s)
        wide ^= wide << 13
        wide ^= wide >> 17
        wide ^= wide << 5
    assert stream("xorshift32_array", 0x80000001, 2, np.uint32)[0] == s != wide & 0xFFFFFFFF


EXTREMES = [0, 1, 0xFF, 0x100, 0xFFFFFEFF, 0xFFFFFF00, 0xFFFFFF7F, 0xFFFFFF80, 0xFFFFFFFF]


@pytest.mark.parametrize("a", EXTREMES)
@pytest.mark.parametrize("b", EXTREMES)
def test_b030_no_word_gives_inf_or_nan(a, b):
    """B030: a uniform of exactly 0 gives log(0) and a tensor of infinities; u1 lies in (0, 1] instead."""
    z0, z1 = rng_blocks.normal_of(np.uint32(a), np.uint32(b))
    assert math.isfinite(z0)
    assert math.isfinite(z1)
    assert abs(z0) <= 5.7681 + 5e-5


def test_b030_largest_normal_and_consumed_words():
    """B030: the smallest u1 is 2^-24, no redraw: every pair consumes exactly two words."""
    largest, _ = rng_blocks.normal_of(np.uint32(0), np.uint32(0))
    assert f"{float(largest):.4f}" == "5.7681"
    for n in (2, 10, 100):
        s = 123
        for _ in range(n):
            s = reference.xorshift32(s)
        assert stream("normal_array", 123, n)[0] == s


def test_b030_u1_of_1_keeps_the_sign_of_zero():
    z0, z1 = rng_blocks.normal_of(np.uint32(0xFFFFFFFF), np.uint32(0))
    assert (bits(z0), bits(z1)) == (0x80000000, 0x80000000)


@given(st.integers(0, 0xFFFFFFFF))
def test_b031_uniforms_stay_below_1(word):
    """B031: word * 2^-32 rounds up to 1.0 for the largest words; 24 bits are exact."""
    u, v = rng_blocks.uniform(np.uint32(word)), rng_blocks.uniform_positive(np.uint32(word))
    assert 0 <= u < 1
    assert 0 < v <= 1
    assert float(u) * 2**24 == word >> 8
    assert float(v) * 2**24 == (word >> 8) + 1


def test_b031_the_three_words():
    words_ = [0xFFFFFF7F, 0xFFFFFF80, 0xFFFFFFFF]
    wrong = [bits(np.float32(w) * np.float32(2.0**-32)) for w in words_]
    assert wrong == [0x3F7FFFFF, 0x3F800000, 0x3F800000]
    assert [bits(rng_blocks.uniform(np.uint32(w))) for w in words_] == [0x3F7FFFFF] * 3


def test_normals_have_the_moments_of_normals():
    s, y = np.array([reference.fmix32(7)], np.uint32), np.zeros(200_000, np.float32)
    KERNELS["normal_array"].mirror(s, y, N32(y.size))
    assert abs(float(y.mean())) < 0.01
    assert abs(float(y.std()) - 1) < 0.01
    assert words(y)[:2] == [0xBF691357, 0x3F13AE18]
