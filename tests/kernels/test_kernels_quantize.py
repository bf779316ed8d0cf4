"""Quantizers against the reference; ties, ends, strides, and the row that is not finite."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from emu.kernels import quantize_cases
from tests.kernels.calls import KERNELS, draw, words
from tests.numerics import reference
from tests.numerics import softfloat as sf
from tests.numerics.compiled import floats
from tests.numerics.patterns import any_float, finite_float, pattern

N32 = np.int32


def rows(patterns: list[list[int]]) -> tuple[int, np.ndarray, np.ndarray, int]:
    """(status, q [rows][cols], scale bits, bad row) of a dense call; untouched elements are 99."""
    x = floats([p for row in patterns for p in row])
    n, cols = len(patterns), len(patterns[0])
    q, scale, bad = np.full(n * cols, 99, np.int8), np.full(n, 99, np.float32), np.full(1, 99, np.int32)
    status = KERNELS["quantize_row_s8"].mirror(x, N32(cols), q, N32(cols), scale, N32(n), N32(cols), bad)
    return status, q.reshape(n, cols), scale, int(bad[0])


def one_row(*values: float) -> tuple[list[int], int]:
    status, q, scale, _ = rows([[pattern(v) for v in values]])
    assert status == 0
    return q[0].tolist(), words(scale)[0]


def test_checks_of_section_8():
    assert one_row(127, 0.5, 1.5, -2.5, -0.5, 63.5) == ([127, 0, 2, -2, 0, 64], 0x3F800000)
    assert one_row(0.5, -0.25, 1e-3, 0.7) == ([91, -45, 0, 127], 0x3BB49C6C)
    assert one_row(3, -1, 1, 0.3) == ([127, -42, 42, 13], 0x3CC18306)
    assert one_row(2.0**-100, -(2.0**-101))[0] == [127, -64]


@given(st.lists(finite_float, min_size=1, max_size=20))
def test_row_against_the_reference(row):
    _, q, scale, _ = rows([row])
    assert (q[0].tolist(), words(scale)[0]) == reference.quantize_row(row)


def expected_rows(call) -> tuple[int, int | None, np.ndarray, list[int]]:
    """Status, bad row, q and scale as they must be after the call: untouched parts as drawn."""
    d, x = call.dims, words(call.array("x"))
    q, scale = call.array("q").copy(), words(call.array("scale"))
    for r in range(d["rows"]):
        result = reference.quantize_row(x[r * d["x_stride"] : r * d["x_stride"] + d["cols"]])
        if result is None:
            return 4, r, q, scale
        q[r * d["q_stride"] : r * d["q_stride"] + d["cols"]] = result[0]
        scale[r] = result[1]
    return 0, None, q, scale


@pytest.mark.parametrize("kind", range(8))
def test_rows_with_strides_and_all_kinds_of_contents(kind):
    seen = set()
    for seed in range(40):
        call = draw("quantize_row_s8", seed, kind=kind)
        bad_before = int(call.array("bad_row")[0])
        status, bad, q, scale = expected_rows(call)
        assert call.run() == status
        assert call.array("q").tolist() == q.tolist()
        assert words(call.array("scale")) == scale
        assert int(call.array("bad_row")[0]) == (bad_before if bad is None else bad)
        seen.add(status)
    assert seen == ({0, 4} if kind == quantize_cases.NOT_FINITE else {0})


@pytest.mark.parametrize("bits", [0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00000, 0x7F800001])
@pytest.mark.parametrize("place", [0, 1, 16, 40])
def test_the_first_bad_row_stops_the_call(bits, place):
    patterns = [[pattern(1.0)] * 41 for _ in range(4)]
    patterns[2][place] = patterns[3][0] = bits
    status, q, scale, bad = rows(patterns)
    assert (status, bad) == (4, 2)
    assert (q[:2] == 127).all()
    assert (q[2:] == 99).all()
    assert (scale[2:] == 99).all()


def test_rows_below_the_smallest_magnitude_are_zero():
    below, at = 0x0D7FFFFF, 0x0D800000
    assert rows([[below, below | sf.SIGN]])[1].tolist() == [[0, 0]]
    assert words(rows([[below]])[2]) == [0]
    assert rows([[at, below | sf.SIGN]])[1].tolist() == [[127, -127]]
    assert rows([[0x00000001, 0x80000000, 0x007FFFFF]])[1].tolist() == [[0, 0, 0]]


@given(st.lists(any_float, max_size=20), st.one_of(any_float, st.floats(2.0**-10, 16, width=32).map(pattern)))
def test_static_against_the_reference(x, s):
    q = np.zeros(len(x), np.int8)
    KERNELS["quantize_static_s8"].mirror(floats(x), q, N32(len(x)), floats([s])[0])
    assert q.tolist() == [reference.quantize_static(b, s) for b in x]


def static(values: list[float], s: float = 1.0) -> list[int]:
    x, q = np.array(values, np.float32), np.zeros(len(values), np.int8)
    KERNELS["quantize_static_s8"].mirror(x, q, N32(x.size), np.float32(s))
    return q.tolist()


def test_static_check_of_section_8():
    values = [np.nan, np.inf, -np.inf, 126.5, -126.5, 127.49, -127.6]
    assert static(values) == [-127, 127, -127, 126, -126, 127, -127]


def test_static_in_bulk():
    for seed in range(40):
        call = draw("quantize_static_s8", seed)
        x, s = words(call.array("x")), int(np.float32(call.values["s"]).view(np.uint32))
        call.run()
        assert call.array("q").tolist() == [reference.quantize_static(b, s) for b in x]


@pytest.mark.parametrize("kind", range(8))
def test_ternary_activations(kind):
    statuses = set()
    for seed in range(40):
        call = draw("quantize_ternary_s8", seed, kind=kind)
        want = reference.quantize_ternary(words(call.array("x")))
        status = call.run()
        statuses.add(status)
        if want is None:
            assert status == 4
            assert all(buffer.untouched() for buffer in call.buffers().values())
        else:
            assert (status, call.array("q").tolist(), words(call.array("a_scale"))) == (0, want[0], [want[1]])
    assert statuses == ({0, 4} if kind == quantize_cases.NOT_FINITE else {0})


@given(st.lists(finite_float, min_size=1, max_size=20))
def test_ternary_against_the_reference(x):
    q, a_scale = np.zeros(len(x), np.int8), np.zeros(1, np.float32)
    assert KERNELS["quantize_ternary_s8"].mirror(floats(x), q, N32(len(x)), a_scale) == 0
    assert (q.tolist(), words(a_scale)[0]) == reference.quantize_ternary(x)


def test_b033_symmetric_ends():
    """B033: one side saturated at -128. Every quantizer of this contract is symmetric."""
    values = [-127.4, -127.5, -128.0, -129.0, 127.0, 128.0]
    assert static(values) == [-127, -127, -127, -127, 127, 127]
    assert static(values, -1.0) == [127, 127, 127, 127, -127, -127]
    assert one_row(*values[:3])[0] == [-126, -127, -127]
    for seed in range(60):
        for symbol in ("quantize_row_s8", "quantize_static_s8", "quantize_ternary_s8"):
            call = draw(symbol, seed)
            before = call.array("q").copy()
            call.run()
            written = call.array("q")[call.array("q") != before]
            assert -128 not in written


def test_b034_ties_go_to_even():
    """B034: half away from zero (or truncation) on one side, half to even on the other."""
    ties = [-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 126.5, -126.5, 0.49999997]
    assert static(ties) == [-2, -2, 0, 0, 2, 2, 126, -126, 0]
    assert one_row(*ties, 127.0)[0] == [-2, -2, 0, 0, 2, 2, 126, -126, 0, 127]
    y = np.zeros(9, np.int32)
    KERNELS["rne_array"].mirror(np.array([*ties[:7], -128.5, ties[8]], np.float32), y, N32(9))
    assert y.tolist() == [-2, -2, 0, 0, 2, 2, 126, -128, 0]


def test_b034_every_tie_in_range():
    halves = np.arange(-126, 127, dtype=np.float32) + np.float32(0.5)
    want = [round(float(h)) for h in halves]
    assert static(halves.tolist()) == want
    assert one_row(*halves.tolist(), 127.0)[0][:-1] == want


def test_b043_out_of_range_is_clamped_before_the_conversion():
    """B043: float to int out of range differs by machine; nothing out of range may reach it."""
    values = [3e9, -3e9, np.nan, -1.0, 2147483648.0, -2147483648.0, 4194304.5, 3.4e38, -3.4e38]
    assert static(values) == [127, -127, -127, -1, 127, -127, 127, 127, -127]
    x = np.array(values, np.float32)
    y, value, slope = (
        np.zeros(9, np.float32),
        draw("gelu_array", 0).array("value"),
        draw("gelu_array", 0).array("slope"),
    )
    KERNELS["gelu_array"].mirror(x, y, N32(9), value, slope)
    want = [reference.gelu(b, words(value), words(slope)) for b in words(x)]
    assert [sf.canonical(b) for b in words(y)] == want


def test_b015_the_row_quantizer_rounds_twice():
    """B015: x * inv + magic in one rounding gives another integer: -116 in two roundings, -115 fused."""
    a, x = 0x400286FF, 0xBFED6A75
    assert rows([[a, x]])[1][0].tolist() == [127, -116]
    inv = sf.div(reference.S127, a)
    fused = reference.signed32(sf.fused(x, inv, 0x4B400000) - 0x4B400000)
    assert fused == -115
