"""Rows in lanes against the scalar functions: ends of tables, not finite, lengths that leave a rest."""

from __future__ import annotations

import numpy as np
import pytest

from emu.models.blocks.linear import quantize_row
from emu.models.blocks.mlp import gelu_pairs, gelu_row
from emu.models.blocks.norms import row_sums
from emu.numerics.activations import gelu
from emu.numerics.tables import gelu_tables
from tests.kernels.calls import KERNELS

F, N = np.float32, np.int32
ENDS = np.array([0.0, -0.0, 6.0, -6.0, np.inf, -np.inf, np.nan, 1e-40, 3e38, -3e38], F)
NEAR_ENDS = np.concatenate([np.nextafter(F(v), F(w)).reshape(1) for v in (6, -6) for w in (-9, 9)])


def bits(values):
    return np.asarray(values, F).view(np.uint32).tolist()


@pytest.mark.parametrize("rest", range(8))
def test_gelu_of_every_step_and_end(rest):
    value, slope = gelu_tables()
    x = np.concatenate([ENDS, NEAR_ENDS, np.linspace(-6.5, 6.5, 4096 + rest, dtype=F)])
    wanted = [gelu(v, value, slope) for v in x]
    gelu_row(x, gelu_pairs(value, slope))
    assert bits(x) == bits(wanted)


@pytest.mark.parametrize("n", range(1, 20))
def test_quantized_rows_of_every_length(n):
    rng = np.random.default_rng(n)
    rows = [rng.standard_normal(n).astype(F) * F(10.0) ** k for k in (-38, -30, 0, 30)]
    halves = (rng.integers(-127, 127, n) + 0.5).astype(F)
    halves[0] = 127  # the scale becomes 1: every other element is a tie
    rows += [np.zeros(n, F), halves, np.full(n, 2.0**-100, F)]
    for x in rows:
        q, wanted, scale = np.full(n, 99, np.int8), np.full(n, 99, np.int8), np.zeros(1, F)
        found, total, finite = quantize_row(x, q)
        assert (
            KERNELS["quantize_row_s8"].mirror(x, N(n), wanted, N(n), scale, N(1), N(n), np.zeros(1, N)) == 0
        )
        assert (q.tolist(), bits(found), finite) == (wanted.tolist(), bits(scale[0]), True)
        assert total == wanted.astype(np.int32).sum()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", range(13))
def test_a_row_with_one_element_that_is_not_finite(value, place):
    x, q = np.ones(13, F), np.full(13, 99, np.int8)
    x[place] = value
    assert quantize_row(x, q) == (0, 0, False)
    assert (q == 99).all()


@pytest.mark.parametrize("square", [False, True])
@pytest.mark.parametrize(("rows", "cols"), [(1, 8), (8, 8), (9, 16), (16, 12), (23, 192)])
def test_sums_are_ascending(rows, cols, square):
    rng = np.random.default_rng(rows)
    x = (rng.standard_normal((rows, cols + 5)) * 10.0 ** rng.integers(-6, 6, (rows, cols + 5))).astype(F)
    minus, found = rng.standard_normal(rows).astype(F), np.zeros(rows, F)
    row_sums(x, rows, cols, minus, square, found)
    wanted = []
    for row, less in zip(x, minus, strict=True):
        total = F(0)
        for v in row[:cols]:
            d = F(v - less)
            total = F(total + (F(d * d) if square else d))
        wanted.append(total)
    assert bits(found) == bits(wanted)
