"""Quantizers from float32 to int8: per row, static, and for ternary layers."""

from __future__ import annotations

import numpy as np

from emu.kernels.quantize_cases import KIND, fill_one_scale, fill_rows
from emu.kernels.shapes import N_SCALAR, TAILS, N, below_zero, extent, far_apart, too_short
from emu.kernels.spec import Dim, Fault, Scalar, Tensor, kernel
from emu.numerics.constants import EPS_TERNARY, ONE, S8_MAX, ZERO
from emu.numerics.jit import jit
from emu.numerics.quantize import (
    NOT_FINITE_BITS,
    TINY_BITS,
    largest_magnitude_bits,
    magnitude_of,
    quantize_clamped,
)
from emu.numerics.rounding import rne
from emu.numerics.types import F32Array, S8Array, S32Array

# Plain integers: inside compiled code a member of an enum would not be one.
_OK, _BAD_ARGUMENT, _NOT_FINITE = 0, 1, 4


@jit
def _quantize_row(x: F32Array, q: S8Array, largest: np.int32) -> np.float32:
    """Quantize one finite row whose max |x| has the pattern ``largest``; returns its scale."""
    if largest < TINY_BITS:
        q[:] = 0
        return ZERO
    a = magnitude_of(largest)
    inv = S8_MAX / a
    for i in range(len(x)):
        q[i] = np.int8(rne(x[i] * inv))
    return a / S8_MAX


@kernel(
    "quantize_row_s8",
    Tensor("x", "float32", (extent("rows", "x_stride", "cols"),), values="moderate", fill=fill_rows),
    Scalar("x_stride", "int32", "x_stride"),
    Tensor("q", "int8", (extent("rows", "q_stride", "cols"),), role="out", values="s8_full"),
    Scalar("q_stride", "int32", "q_stride"),
    Tensor("scale", "float32", ("rows",), role="out"),
    Scalar("rows", "int32", "rows"),
    Scalar("cols", "int32", "cols"),
    Tensor("bad_row", "int32", (1,), role="out", values="s32"),
    dims=(
        Dim("rows", 0, 5, special=(1, 2, 3)),
        Dim("cols", 1, 300, special=TAILS[1:]),
        Dim("x_gap", 0, 17),
        Dim("q_gap", 0, 17),
        KIND,
    ),
    derived={
        "x_stride": lambda d: d["cols"] + d["x_gap"],
        "q_stride": lambda d: d["cols"] + d["q_gap"],
    },
    returns="int32",
    source="numerics 8",
    extremes=far_apart("x_gap", "q_gap", rows=2, cols=20),
    faults=(
        Fault("negative rows", 1, {"rows": below_zero("rows")}),
        Fault("no columns", 1, {"cols": 0}),
        Fault("negative columns", 1, {"cols": below_zero("cols")}),
        Fault("x_stride below cols", 1, {"x_stride": too_short("x_stride", "cols")}),
        Fault("q_stride below cols", 1, {"q_stride": too_short("q_stride", "cols")}),
    ),
)
@jit
def quantize_row_s8(
    x: F32Array,
    x_stride: np.int32,
    q: S8Array,
    q_stride: np.int32,
    scale: F32Array,
    rows: np.int32,
    cols: np.int32,
    bad_row: S32Array,
) -> int:
    """Quantize rows of x to q with scale[r] = max|x[r]| / 127 (section 8).

    x float32 [rows][x_stride], q int8 [rows][q_stride], scale float32 [rows], cols >= 1. Returns 0, 1 for bad
    sizes or strides below cols, 4 at the first row that is not finite: its index goes to bad_row[0], rows
    before it are done, nothing is written for it or later ones.
    """
    if rows < 0 or cols < 1 or x_stride < cols or q_stride < cols:
        return _BAD_ARGUMENT
    for r in range(rows):
        row = x[r * x_stride : r * x_stride + cols]
        largest = largest_magnitude_bits(row)
        if largest >= NOT_FINITE_BITS:
            bad_row[0] = r
            return _NOT_FINITE
        scale[r] = _quantize_row(row, q[r * q_stride : r * q_stride + cols], largest)
    return _OK


@kernel(
    "quantize_static_s8",
    Tensor("x", "float32", ("n",), values="any"),
    Tensor("q", "int8", ("n",), role="out", values="s8_full"),
    N_SCALAR,
    Scalar("s", "float32", values="(0,16]"),
    dims=(N,),
    source="numerics 8",
)
@jit
def quantize_static_s8(x: F32Array, q: S8Array, n: np.int32, s: np.float32) -> None:
    """Quantize float32 x [n] to int8 q [n] with the scale s: clamped to +-127, NaN is -127 (section 8)."""
    inv_scale = ONE / np.float32(s)
    for i in range(n):
        q[i] = quantize_clamped(x[i], inv_scale)


@kernel(
    "quantize_ternary_s8",
    Tensor("x", "float32", ("n",), values="moderate", fill=fill_one_scale),
    Tensor("q", "int8", ("n",), role="out", values="s8_full"),
    N_SCALAR,
    Tensor("a_scale", "float32", (1,), role="out"),
    dims=(Dim("n", 1, 1500, special=TAILS[1:]), KIND),
    returns="int32",
    source="numerics 8",
    faults=(Fault("no elements", 1, {"n": 0}), Fault("negative n", 1, {"n": below_zero("n")})),
)
@jit
def quantize_ternary_s8(x: F32Array, q: S8Array, n: np.int32, a_scale: F32Array) -> int:
    """Quantize float32 x [n] to int8 q [n]; a_scale[0] = 127 / max(max|x|, 1e-5) (section 8, BitLinear).

    Returns 0, 1 for n < 1, 4 when an element is not finite; with 1 and 4 nothing is written.
    """
    if n < 1:
        return _BAD_ARGUMENT
    largest = largest_magnitude_bits(x[:n])
    if largest >= NOT_FINITE_BITS:
        return _NOT_FINITE
    factor = S8_MAX / max(magnitude_of(largest), EPS_TERNARY)
    for i in range(n):
        q[i] = np.int8(rne(x[i] * factor))
    a_scale[0] = factor
    return _OK
