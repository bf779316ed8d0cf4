"""Where a network begins and ends in float32: embeddings, pooling, the float head."""

from __future__ import annotations

from typing import Any

import numpy as np

from emu.kernels.layer_cases import floats, gap_stride, scalar, vector
from emu.kernels.shapes import below_zero, far_apart, too_short
from emu.kernels.spec import Dim, Dims, Fault, Tensor, kernel
from emu.numerics.constants import ONE, ZERO
from emu.numerics.jit import jit
from emu.numerics.types import F32Array, S32Array

Array = np.ndarray[Any, Any]
_OK, _BAD_ARGUMENT = 0, 1
_WIDTH = Dim("cols", 0, 130, special=(1, 15, 16, 96, 128))


@kernel(
    "pool_rows",
    floats("x", "rows", "x_stride", "cols"),
    scalar("x_stride"),
    scalar("rows"),
    scalar("cols"),
    vector("y", "cols", role="out"),
    dims=(Dim("rows", 1, 40, special=(1, 2, 3, 32)), _WIDTH, Dim("x_gap", 0, 5)),
    derived={"x_stride": gap_stride("cols", "x_gap")},
    extremes=far_apart("x_gap", rows=2, cols=20),
    returns="int32",
    source="numerics 10",
    faults=(
        Fault("no rows", 1, {"rows": 0}),
        Fault("negative columns", 1, {"cols": below_zero("cols")}),
        Fault("x_stride below cols", 1, {"x_stride": too_short("x_stride", "cols")}),
    ),
)
@jit
def pool_rows(x: F32Array, x_stride: np.int32, rows: np.int32, cols: np.int32, y: F32Array) -> int:
    """y[c] = (sum of the rows of float32 x, ascending) * (1 / rows) (section 10). Returns 0, or 1."""
    if rows < 1 or cols < 0 or x_stride < cols:
        return _BAD_ARGUMENT
    over = ONE / np.float32(rows)
    for c in range(cols):
        total = ZERO
        for r in range(rows):
            total += x[r * x_stride + c]
        y[c] = total * over
    return _OK


@kernel(
    "linear_f32",
    vector("x", "cols"),
    Tensor("w", "float32", (lambda d: d["outs"] * d["cols"],), values="moderate"),
    vector("b", "outs"),
    scalar("outs"),
    scalar("cols"),
    vector("y", "outs", role="out"),
    dims=(Dim("outs", 0, 9, special=(1, 2)), _WIDTH),
    returns="int32",
    source="numerics 10",
    faults=(
        Fault("negative outs", 1, {"outs": below_zero("outs")}),
        Fault("negative columns", 1, {"cols": below_zero("cols")}),
    ),
)
@jit
def linear_f32(x: F32Array, w: F32Array, b: F32Array, outs: np.int32, cols: np.int32, y: F32Array) -> int:
    """y[o] = b[o] + (sum of w[o][c] * x[c], ascending from +0) in float32 (section 10). Returns 0, or 1."""
    if outs < 0 or cols < 0:
        return _BAD_ARGUMENT
    for o in range(outs):
        total = ZERO
        for c in range(cols):
            total += w[o * cols + c] * x[c]
        y[o] = b[o] + total
    return _OK


def _fill_ids(dims: Dims, rng: np.random.Generator, array: Array) -> None:
    """Ids inside the vocabulary; when the case says so, one outside."""
    array %= dims["vocabulary"]
    if dims["outside"] == 1 and array.size:
        array[array.size // 2] = dims["vocabulary"]
    if dims["outside"] == 2 and array.size:
        array[-1] = -1


@kernel(
    "embed_rows",
    Tensor("ids", "int32", ("rows",), values="[0,1000000]", fill=_fill_ids),
    scalar("rows"),
    Tensor("table", "float32", (lambda d: d["vocabulary"] * d["cols"],), values="any"),
    scalar("vocabulary"),
    Tensor("pos", "float32", (lambda d: d["rows"] * d["cols"],), values="any"),
    scalar("cols"),
    Tensor("y", "float32", (lambda d: d["rows"] * d["cols"],), role="out"),
    dims=(Dim("rows", 0, 9), Dim("vocabulary", 1, 20), _WIDTH, Dim("outside", 0, 9)),
    returns="int32",
    source="numerics 10",
    faults=(
        Fault("negative rows", 1, {"rows": below_zero("rows")}),
        Fault("negative columns", 1, {"cols": below_zero("cols")}),
    ),
)
@jit
def embed_rows(
    ids: S32Array,
    rows: np.int32,
    table: F32Array,
    vocabulary: np.int32,
    pos: F32Array,
    cols: np.int32,
    y: F32Array,
) -> int:
    """y[r] = table[ids[r]] + pos[r], float32 rows (section 10). Returns 0, or 1 (an id out of range too)."""
    if rows < 0 or cols < 0:
        return _BAD_ARGUMENT
    for r in range(rows):
        if ids[r] < 0 or ids[r] >= vocabulary:
            return _BAD_ARGUMENT
    for r in range(rows):
        for c in range(cols):
            y[r * cols + c] = table[ids[r] * cols + c] + pos[r * cols + c]
    return _OK
