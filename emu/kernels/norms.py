"""Norms over float32 rows."""

from __future__ import annotations

import numpy as np

from emu.kernels.layer_cases import floats, gap_stride, scalar, vector
from emu.kernels.shapes import below_zero, far_apart, too_short
from emu.kernels.spec import Dim, Fault, kernel
from emu.numerics.constants import EPS_NORM, ONE, ZERO
from emu.numerics.jit import jit
from emu.numerics.types import F32Array

_OK, _BAD_ARGUMENT = 0, 1
_DIMS = (
    Dim("rows", 0, 5, special=(1, 2, 3)),
    Dim("cols", 1, 250, special=(1, 2, 15, 16, 17, 64, 96, 128, 192)),
    Dim("x_gap", 0, 9),
    Dim("y_gap", 0, 9),
)
_DERIVED = {"x_stride": gap_stride("cols", "x_gap"), "y_stride": gap_stride("cols", "y_gap")}
_FAULTS = (
    Fault("negative rows", 1, {"rows": below_zero("rows")}),
    Fault("no columns", 1, {"cols": 0}),
    Fault("negative columns", 1, {"cols": below_zero("cols")}),
    Fault("x_stride below cols", 1, {"x_stride": too_short("x_stride", "cols")}),
    Fault("y_stride below cols", 1, {"y_stride": too_short("y_stride", "cols")}),
)
_EXTREMES = far_apart("x_gap", "y_gap", rows=2, cols=20)
_X = (floats("x", "rows", "x_stride", "cols"), scalar("x_stride"))
_Y = (floats("y", "rows", "y_stride", "cols", role="out"), scalar("y_stride"), scalar("rows"), scalar("cols"))


@jit
def _refused(x_stride: np.int32, y_stride: np.int32, rows: np.int32, cols: np.int32) -> bool | np.bool:
    return rows < 0 or cols < 1 or x_stride < cols or y_stride < cols


@kernel(
    "layernorm",
    *_X,
    *_Y,
    dims=_DIMS,
    derived=_DERIVED,
    returns="int32",
    source="numerics 10",
    extremes=_EXTREMES,
    faults=_FAULTS,
)
@jit
def layernorm(
    x: F32Array, x_stride: np.int32, y: F32Array, y_stride: np.int32, rows: np.int32, cols: np.int32
) -> int:
    """y = (x - mean) / sqrt(var + 1e-6) over float32 rows (section 10). Returns 0, or 1 for bad sizes."""
    if _refused(x_stride, y_stride, rows, cols):
        return _BAD_ARGUMENT
    over = ONE / np.float32(cols)
    for r in range(rows):
        total, squares = ZERO, ZERO
        for c in range(cols):
            total += x[r * x_stride + c]
        mean = total * over
        for c in range(cols):
            d = x[r * x_stride + c] - mean
            squares += d * d
        inv = ONE / np.sqrt(squares * over + EPS_NORM)
        for c in range(cols):
            y[r * y_stride + c] = (x[r * x_stride + c] - mean) * inv
    return _OK


@kernel(
    "rmsnorm",
    *_X,
    vector("w", "cols"),
    *_Y,
    dims=_DIMS,
    derived=_DERIVED,
    returns="int32",
    source="numerics 10",
    extremes=_EXTREMES,
    faults=_FAULTS,
)
@jit
def rmsnorm(
    x: F32Array,
    x_stride: np.int32,
    w: F32Array,
    y: F32Array,
    y_stride: np.int32,
    rows: np.int32,
    cols: np.int32,
) -> int:
    """y = (x / sqrt(mean square + 1e-6)) * w over float32 rows (section 10). Returns 0, or 1."""
    if _refused(x_stride, y_stride, rows, cols):
        return _BAD_ARGUMENT
    over = ONE / np.float32(cols)
    for r in range(rows):
        squares = ZERO
        for c in range(cols):
            squares += x[r * x_stride + c] * x[r * x_stride + c]
        inv = ONE / np.sqrt(squares * over + EPS_NORM)
        for c in range(cols):
            y[r * y_stride + c] = (x[r * x_stride + c] * inv) * w[c]
    return _OK
