"""Elementwise steps of a layer: sums, products, activations in place, modulation, residuals."""

from __future__ import annotations

import numpy as np

from emu.kernels.layer_cases import floats, gap_stride, scalar, table_fill, vector
from emu.kernels.shapes import N_SCALAR, N, far_apart
from emu.kernels.spec import Dim, Scalar, Tensor, kernel
from emu.numerics import activations
from emu.numerics.constants import ONE
from emu.numerics.jit import jit
from emu.numerics.tables import table
from emu.numerics.types import F32Array

_X_INOUT = Tensor("x", "float32", ("n",), role="inout", values="any")
_PAIR = (vector("a", "n", "any"), vector("b", "n", "any"), vector("y", "n", "any", "out"), N_SCALAR)
_ROWS, _COLS = Dim("rows", 0, 5, special=(1, 2, 3)), Dim("cols", 0, 100, special=(1, 15, 16, 17, 33, 96))
_DIMS = (_ROWS, _COLS, Dim("x_gap", 0, 9), Dim("y_gap", 0, 9))
_STRIDES = {"x_stride": gap_stride("cols", "x_gap"), "y_stride": gap_stride("cols", "y_gap")}
_FAR_Y = far_apart("y_gap", rows=2, cols=20)
_FAR_XY = far_apart("x_gap", "y_gap", rows=2, cols=20)
_Y_INOUT = floats("y", "rows", "y_stride", "cols", role="inout", values="any")


@kernel("add_array", *_PAIR, dims=(N,), source="numerics 10")
@jit
def add_array(a: F32Array, b: F32Array, y: F32Array, n: np.int32) -> None:
    """y = a + b, float32 [n] (section 10)."""
    for i in range(n):
        y[i] = a[i] + b[i]


@kernel("multiply_array", *_PAIR, dims=(N,), source="numerics 10")
@jit
def multiply_array(a: F32Array, b: F32Array, y: F32Array, n: np.int32) -> None:
    """y = a * b, float32 [n] (section 10)."""
    for i in range(n):
        y[i] = a[i] * b[i]


@kernel(
    "scale_array",
    _X_INOUT,
    N_SCALAR,
    Scalar("factor", "float32", values="any"),
    dims=(N,),
    source="numerics 10",
)
@jit
def scale_array(x: F32Array, n: np.int32, factor: np.float32) -> None:
    """x = x * factor, float32 [n] (section 10)."""
    for i in range(n):
        x[i] = x[i] * np.float32(factor)


@kernel("relu_in_place", _X_INOUT, N_SCALAR, dims=(N,), source="numerics 1")
@jit
def relu_in_place(x: F32Array, n: np.int32) -> None:
    """x = x where x > 0, else +0, float32 [n] (section 1)."""
    for i in range(n):
        x[i] = activations.relu(x[i])


@kernel("silu_in_place", _X_INOUT, N_SCALAR, dims=(N,), source="numerics 7")
@jit
def silu_in_place(x: F32Array, n: np.int32) -> None:
    """x = x / (1 + exp(-x)), float32 [n] (section 7)."""
    for i in range(n):
        x[i] = activations.silu(x[i])


@kernel(
    "gelu_in_place",
    Tensor("x", "float32", ("n",), role="inout", values="gelu"),
    N_SCALAR,
    Tensor("value", "float32", (1024,), values="table", fill=table_fill(lambda: table("gelu_value"))),
    Tensor("slope", "float32", (1024,), values="table", fill=table_fill(lambda: table("gelu_slope"))),
    dims=(N,),
    source="numerics 7",
)
@jit
def gelu_in_place(x: F32Array, n: np.int32, value: F32Array, slope: F32Array) -> None:
    """GELU in place by the tables value, slope [1024], float32 [n] (section 7)."""
    for i in range(n):
        x[i] = activations.gelu(x[i], value, slope)


@kernel(
    "modulate",
    _Y_INOUT,
    scalar("y_stride"),
    vector("sh", "cols", "any"),
    vector("sc", "cols", "any"),
    scalar("rows"),
    scalar("cols"),
    dims=_DIMS,
    derived=_STRIDES,
    extremes=_FAR_Y,
    source="numerics 10",
)
@jit
def modulate(
    y: F32Array, y_stride: np.int32, sh: F32Array, sc: F32Array, rows: np.int32, cols: np.int32
) -> None:
    """y = y * (1 + sc[c]) + sh[c] over float32 rows, in place (section 10)."""
    for r in range(rows):
        for c in range(cols):
            i = r * y_stride + c
            y[i] = y[i] * (ONE + sc[c]) + sh[c]


@kernel(
    "affine",
    _Y_INOUT,
    scalar("y_stride"),
    vector("w", "cols", "any"),
    vector("b", "cols", "any"),
    scalar("rows"),
    scalar("cols"),
    dims=_DIMS,
    derived=_STRIDES,
    extremes=_FAR_Y,
    source="numerics 10",
)
@jit
def affine(y: F32Array, y_stride: np.int32, w: F32Array, b: F32Array, rows: np.int32, cols: np.int32) -> None:
    """y = y * w[c] + b[c] over float32 rows, in place (section 10)."""
    for r in range(rows):
        for c in range(cols):
            i = r * y_stride + c
            y[i] = y[i] * w[c] + b[c]


_X_ROWS = (floats("x", "rows", "x_stride", "cols", role="inout", values="any"), scalar("x_stride"))
_Y_ROWS = (floats("y", "rows", "y_stride", "cols", values="any"), scalar("y_stride"))


@kernel(
    "residual_add",
    *_X_ROWS,
    *_Y_ROWS,
    scalar("rows"),
    scalar("cols"),
    dims=_DIMS,
    derived=_STRIDES,
    extremes=_FAR_XY,
    source="numerics 10",
)
@jit
def residual_add(
    x: F32Array, x_stride: np.int32, y: F32Array, y_stride: np.int32, rows: np.int32, cols: np.int32
) -> None:
    """x = x + y over float32 rows (section 10)."""
    for r in range(rows):
        for c in range(cols):
            x[r * x_stride + c] = x[r * x_stride + c] + y[r * y_stride + c]


@kernel(
    "residual_gated",
    *_X_ROWS,
    *_Y_ROWS,
    vector("g", "cols", "any"),
    scalar("rows"),
    scalar("cols"),
    dims=_DIMS,
    derived=_STRIDES,
    extremes=_FAR_XY,
    source="numerics 10",
)
@jit
def residual_gated(
    x: F32Array,
    x_stride: np.int32,
    y: F32Array,
    y_stride: np.int32,
    g: F32Array,
    rows: np.int32,
    cols: np.int32,
) -> None:
    """x = x + g[c] * y over float32 rows (section 10)."""
    for r in range(rows):
        for c in range(cols):
            x[r * x_stride + c] = x[r * x_stride + c] + g[c] * y[r * y_stride + c]


@kernel(
    "ple_mix",
    vector("x", "n", "any"),
    vector("table", "n", "any"),
    vector("y", "n", "any", "out"),
    N_SCALAR,
    Scalar("by", "float32", values="any"),
    Scalar("factor", "float32", values="any"),
    dims=(N,),
    source="numerics 10",
)
@jit
def ple_mix(
    x: F32Array, table: F32Array, y: F32Array, n: np.int32, by: np.float32, factor: np.float32
) -> None:
    """y = (x + table * by) * factor, float32 [n]: per-layer embeddings (section 10)."""
    for i in range(n):
        y[i] = (x[i] + table[i] * np.float32(by)) * np.float32(factor)
