"""The pieces of attention_s8: softmax to int8, and columns quantized to rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from emu.kernels.layer_cases import BAD, gap_stride, scalar, scratch, vector, whole
from emu.kernels.quantize_cases import KIND, NOT_FINITE, fill_rows
from emu.kernels.shapes import below_zero, extent, too_short
from emu.kernels.spec import Dim, Dims, Fault, Tensor, kernel
from emu.numerics.constants import S8_MAX, ZERO
from emu.numerics.exponential import exp_f32
from emu.numerics.jit import jit
from emu.numerics.quantize import (
    NOT_FINITE_BITS,
    TINY_BITS,
    largest_magnitude_bits,
    magnitude_of,
)
from emu.numerics.rounding import rne
from emu.numerics.types import Count, F32Array, S8Array, S32Array

_OK, _BAD_ARGUMENT, _NOT_FINITE = 0, 1, 4


@jit
def quantize_one(x: F32Array, q: S8Array, n: Count) -> tuple[bool, np.float32]:
    """quantize_row_s8 of x [n] to q [n] where it is finite: (finite, scale)."""
    largest = largest_magnitude_bits(x[:n])
    if largest >= NOT_FINITE_BITS:
        return False, ZERO
    if largest < TINY_BITS:
        q[:n] = 0
        return True, ZERO
    a = magnitude_of(largest)
    inv = S8_MAX / a
    for i in range(n):
        q[i] = np.int8(rne(x[i] * inv))
    return True, a / S8_MAX


@jit
def softmax_row(x: F32Array, n: Count, o: S8Array, padded: Count) -> tuple[bool, np.float32]:
    """(finite, sum of exponentials) of logits x [n]; o [padded] = rne(r * 127), zeros behind n."""
    if largest_magnitude_bits(x[:n]) >= NOT_FINITE_BITS:
        return False, ZERO
    m = x[0]
    for j in range(1, n):
        m = x[j] if x[j] > m else m
    total = ZERO
    for j in range(n):
        r = exp_f32(x[j] - m)
        total += r
        o[j] = np.int8(rne(r * S8_MAX))
    o[n:padded] = 0
    return True, total


@kernel(
    "quantize_columns_s8",
    Tensor("x", "float32", (extent("rows", "x_stride", "cols"),), values="moderate", fill=fill_rows),
    scalar("x_stride"),
    scalar("rows"),
    scalar("cols"),
    Tensor("q", "int8", (extent("cols", "q_stride", "padded"),), role="out", values="s8_full"),
    scalar("q_stride"),
    vector("scale", "cols", role="out"),
    scratch("rows", "column", "float32"),
    BAD,
    dims=(
        Dim("rows", 1, 70, special=(1, 2, 15, 16, 17, 32, 64)),
        Dim("cols", 0, 40, special=(1, 2, 16, 32)),
        Dim("x_gap", 0, 9),
        Dim("q_gap", 0, 9),
        KIND,
    ),
    derived={
        "padded": whole("rows"),
        "x_stride": gap_stride("cols", "x_gap"),
        "q_stride": lambda d: d["padded"] + d["q_gap"],
    },
    returns="int32",
    source="numerics 10",
    faults=(
        Fault("no rows", 1, {"rows": 0}),
        Fault("negative columns", 1, {"cols": below_zero("cols")}),
        Fault("x_stride below cols", 1, {"x_stride": too_short("x_stride", "cols")}),
        Fault("q_stride below whole vectors", 1, {"q_stride": too_short("q_stride", "padded")}),
    ),
)
@jit
def quantize_columns_s8(
    x: F32Array,
    x_stride: np.int32,
    rows: np.int32,
    cols: np.int32,
    q: S8Array,
    q_stride: np.int32,
    scale: F32Array,
    column: F32Array,
    bad: S32Array,
) -> int:
    """Columns of float32 x to int8 rows of q with their scales, zeros to whole vectors (section 10).

    Returns 0, 1 bad sizes, 4 at the first column that is not finite, its number in bad[0].
    """
    if rows < 1 or cols < 0 or x_stride < cols or q_stride < (rows + 15) & ~15:
        return _BAD_ARGUMENT
    for c in range(cols):
        for r in range(rows):
            column[r] = x[r * x_stride + c]
        finite, factor = quantize_one(column, q[c * q_stride : c * q_stride + rows], rows)
        if not finite:
            bad[0] = c
            return _NOT_FINITE
        scale[c] = factor
        q[c * q_stride + rows : c * q_stride + ((rows + 15) & ~15)] = 0
    return _OK


def _fill_logits(dims: Dims, rng: np.random.Generator, array: np.ndarray[Any, Any]) -> None:
    """In one kind of case one logit that is not finite."""
    if dims["kind"] == NOT_FINITE and dims["rows"]:
        place = rng.integers(dims["rows"]) * dims["x_stride"] + rng.integers(dims["cols"])
        array.flat[place] = np.float32(rng.choice(np.array([np.nan, np.inf, -np.inf])))


@kernel(
    "softmax_s8",
    Tensor("x", "float32", (extent("rows", "x_stride", "cols"),), values="gelu", fill=_fill_logits),
    scalar("x_stride"),
    scalar("rows"),
    scalar("cols"),
    Tensor("o", "int8", (extent("rows", "o_stride", "padded"),), role="out", values="s8_full"),
    scalar("o_stride"),
    vector("sum", "rows", role="out"),
    BAD,
    dims=(
        Dim("rows", 0, 5, special=(1, 2, 3)),
        Dim("cols", 1, 100, special=(1, 2, 3, 15, 16, 17, 64)),
        Dim("x_gap", 0, 9),
        Dim("o_gap", 0, 9),
        KIND,
    ),
    derived={
        "padded": whole("cols"),
        "x_stride": gap_stride("cols", "x_gap"),
        "o_stride": lambda d: d["padded"] + d["o_gap"],
    },
    returns="int32",
    source="numerics 10",
    faults=(
        Fault("negative rows", 1, {"rows": below_zero("rows")}),
        Fault("no columns", 1, {"cols": 0}),
        Fault("x_stride below cols", 1, {"x_stride": too_short("x_stride", "cols")}),
        Fault("o_stride below whole vectors", 1, {"o_stride": too_short("o_stride", "padded")}),
    ),
)
@jit
def softmax_s8(
    x: F32Array,
    x_stride: np.int32,
    rows: np.int32,
    cols: np.int32,
    o: S8Array,
    o_stride: np.int32,
    sum: F32Array,
    bad: S32Array,
) -> int:
    """Rows of logits x to o = rne(127 * exp(l - max)) with the sums of the exponentials (section 10).

    Returns 0, 1 bad sizes, 4 at the first row that is not finite, its number in bad[0].
    """
    padded = (cols + 15) & ~15
    if rows < 0 or cols < 1 or x_stride < cols or o_stride < padded:
        return _BAD_ARGUMENT
    for r in range(rows):
        row = o[r * o_stride : r * o_stride + padded]
        finite, total = softmax_row(x[r * x_stride : r * x_stride + cols], cols, row, padded)
        if not finite:
            bad[0] = r
            return _NOT_FINITE
        sum[r] = total
    return _OK
