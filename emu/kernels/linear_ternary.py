"""Ternary linear layers: over quantized rows, and from float rows with one scale (BitLinear)."""

from __future__ import annotations

from typing import Any

import numpy as np

from emu.kernels.dot_checks import BAD_ARGUMENT, MISALIGNED, OK, check_sizes, misaligned
from emu.kernels.layer_cases import GAPS, OUTS, ROWS, codes, floats, gap_stride, scalar, scratch, whole
from emu.kernels.quantize import quantize_ternary_s8
from emu.kernels.quantize_cases import KIND, fill_one_scale
from emu.kernels.shapes import (
    FAR_TOO_MANY,
    MOST,
    TOO_MANY,
    TOO_MANY_STRIDE,
    alike,
    below_zero,
    extent,
    too_short,
)
from emu.kernels.spec import Dim, Dims, Fault, Scalar, Tensor, kernel
from emu.numerics.jit import jit
from emu.numerics.ternary import ZERO_BYTE, ternary_row_bytes
from emu.numerics.types import Count, F32Array, S8Array, S32Array, U8Array

Array = np.ndarray[Any, Any]


def _fill_codes(dims: Dims, array: Array) -> Array:
    """Turn the invalid code 11 into 01, keep the others; the flat array."""
    flat = array.reshape(-1)
    flat ^= ((flat & (flat >> 1)) & 0x55) << 1
    return flat


def _fill_w(dims: Dims, rng: np.random.Generator, array: Array) -> None:
    """Valid codes, then 01 to the end of each row's last vector."""
    flat = _fill_codes(dims, array)
    whole_bytes, rest = divmod(dims["cols"], 4)
    keep = (1 << (2 * rest)) - 1
    for start in range(0, flat.size, max(dims["w_stride"], 1)):
        end = start + dims["w_bytes"]
        if rest:
            flat[start + whole_bytes] = (int(flat[start + whole_bytes]) & keep) | (ZERO_BYTE & ~keep & 0xFF)
        flat[start + whole_bytes + (rest > 0) : end] = ZERO_BYTE


def _fill_w_bare(dims: Dims, rng: np.random.Generator, array: Array) -> None:
    """Valid codes; unused fields of a row's last byte stay arbitrary, for they must not be read."""
    _fill_codes(dims, array)


@jit
def dot_ternary(x: S8Array, xi: Count, w: U8Array, wi: Count, cols: Count) -> np.int32:
    """Sum of (code - 1) * x over ``cols`` columns of the packed row at wi."""
    total = np.int32(0)
    for c in range(cols):
        code = np.int32((w[wi + (c >> 2)] >> ((c & 3) << 1)) & 3)
        total = np.int32(total + np.int32(x[xi + c]) * np.int32(code - 1))
    return total


@jit
def _check(
    x_stride: np.int32, rows: np.int32, w_stride: np.int32, outs: np.int32, cols: np.int32, y_stride: np.int32
) -> int:
    if outs < 0 or y_stride < outs or w_stride < (cols + 3) // 4:
        return BAD_ARGUMENT
    return check_sizes(rows, cols, x_stride, np.int32(0))


@jit
def _multiply(
    x: S8Array,
    x_stride: np.int32,
    rows: np.int32,
    w: U8Array,
    w_stride: np.int32,
    outs: np.int32,
    cols: np.int32,
    factor: np.float32,
    y: F32Array,
    y_stride: np.int32,
) -> None:
    for r in range(rows):
        for o in range(outs):
            acc = np.float32(dot_ternary(x, r * x_stride, w, o * w_stride, cols))
            y[r * y_stride + o] = acc * factor


_COLS = Dim("cols", 0, 300, special=(0, 1, 3, 15, 16, 17, 63, 64, 65, 128))
_DIMS = (ROWS, OUTS, _COLS, *GAPS)
_LONG = {"cols": TOO_MANY, "x_stride": TOO_MANY_STRIDE, "w_stride": ternary_row_bytes(TOO_MANY, 16)}
_MOST = {**_LONG, "rows": 0, "cols": MOST}
_SHORT = ternary_row_bytes(MOST) - 1
_FAULTS = (
    Fault("negative rows", 1, {"rows": below_zero("rows")}),
    Fault("negative outs", 1, {"outs": below_zero("outs")}),
    Fault("negative columns", 1, {"cols": below_zero("cols")}),
    Fault("x_stride below cols", 1, {"cols": 16, "x_stride": too_short("x_stride", 16)}),
    Fault("w_stride below the codes", 1, {"cols": 16, "w_stride": 3}),
    Fault("w_stride one short of most columns, no rows", 1, {**_MOST, "w_stride": _SHORT}),
    Fault("no rows", 0, {"rows": 0}),
    Fault("no outs", 0, {"outs": 0}),
    Fault("y_stride below outs", 1, {"y_stride": too_short("y_stride", "outs")}),
    Fault("most columns, no rows", 0, _MOST),
    Fault("far too many columns", 2, dict.fromkeys(_LONG, FAR_TOO_MANY)),
    Fault("too many columns", 2, _LONG),
)
_FACTORS = (Scalar("scale", "float32", values="(0,16]"), Scalar("a_scale", "float32", values="(0,1000000]"))
_RESULT = (floats("y", "rows", "y_stride", "outs", role="out"), scalar("y_stride"))
_ACC = scratch("rows", "acc", "int32")


@kernel(
    "linear_ternary",
    codes("x", "rows", "x_stride", "cols", "padded"),
    scalar("x_stride"),
    scalar("rows"),
    Tensor("w", "uint8", (extent("outs", "w_stride", "w_bytes"),), align=16, values="codes", fill=_fill_w),
    scalar("w_stride"),
    scalar("outs"),
    scalar("cols"),
    *_FACTORS,
    *_RESULT,
    _ACC,
    dims=_DIMS,
    derived={
        "padded": whole("cols"),
        "w_bytes": lambda d: ternary_row_bytes(d["cols"], 16),
        "x_stride": gap_stride("cols", "x_gap", 16),
        "w_stride": lambda d: ternary_row_bytes(d["cols"], 16) + 16 * d["w_gap"],
        "y_stride": gap_stride("outs", "y_gap"),
    },
    returns="int32",
    source="numerics 8",
    faults=(
        *_FAULTS,
        Fault("x misaligned", 3, misalign=("x",)),
        Fault("w misaligned", 3, misalign=("w",)),
        Fault("x and x_stride off alike", 3, alike("x_stride"), ("x",)),
        Fault("x_stride and w_stride off alike", 3, alike("x_stride", "w_stride")),
        Fault("w and w_stride off alike", 3, alike("w_stride"), ("w",)),
        Fault("x_stride not a multiple of 16", 3, {"x_stride": lambda d: d["x_stride"] + 8}),
        Fault("w_stride not a multiple of 16", 3, {"w_stride": lambda d: d["w_stride"] + 4}),
    ),
)
@jit
def linear_ternary(
    x: S8Array,
    x_stride: np.int32,
    rows: np.int32,
    w: U8Array,
    w_stride: np.int32,
    outs: np.int32,
    cols: np.int32,
    scale: np.float32,
    a_scale: np.float32,
    y: F32Array,
    y_stride: np.int32,
    acc: S32Array,
) -> int:
    """y[r][o] = (float)dot * (scale / a_scale) of int8 rows and packed ternary rows (section 8).

    x int8 [rows][x_stride], w uint8 [outs][w_stride], y float32 [rows][y_stride]. Returns 0, 1 bad sizes, 2
    too many columns, 3 misaligned.
    """
    status = _check(x_stride, rows, w_stride, outs, cols, y_stride)
    if status != OK:
        return int(status)
    if misaligned(x) or misaligned(w) or x_stride & 15 != 0 or w_stride & 15 != 0:
        return MISALIGNED
    _multiply(
        x, x_stride, rows, w, w_stride, outs, cols, np.float32(scale) / np.float32(a_scale), y, y_stride
    )
    return OK


@kernel(
    "linear_ternary_c",
    Tensor("x", "int8", (extent("rows", "x_stride", "cols"),), values="s8_full"),
    scalar("x_stride"),
    scalar("rows"),
    Tensor("w", "uint8", (extent("outs", "w_stride", "w_bytes"),), values="codes", fill=_fill_w_bare),
    scalar("w_stride"),
    scalar("outs"),
    scalar("cols"),
    *_FACTORS,
    *_RESULT,
    _ACC,
    dims=_DIMS,
    derived={
        "w_bytes": lambda d: ternary_row_bytes(d["cols"]),
        "x_stride": gap_stride("cols", "x_gap"),
        "w_stride": lambda d: ternary_row_bytes(d["cols"]) + d["w_gap"],
        "y_stride": gap_stride("outs", "y_gap"),
    },
    returns="int32",
    source="numerics 8",
    faults=_FAULTS,
)
@jit
def linear_ternary_c(
    x: S8Array,
    x_stride: np.int32,
    rows: np.int32,
    w: U8Array,
    w_stride: np.int32,
    outs: np.int32,
    cols: np.int32,
    scale: np.float32,
    a_scale: np.float32,
    y: F32Array,
    y_stride: np.int32,
    acc: S32Array,
) -> int:
    """The results of :func:`linear_ternary` for any alignment, reading no padding (section 8); 0, 1, 2."""
    status = _check(x_stride, rows, w_stride, outs, cols, y_stride)
    if status != OK:
        return int(status)
    _multiply(
        x, x_stride, rows, w, w_stride, outs, cols, np.float32(scale) / np.float32(a_scale), y, y_stride
    )
    return OK


@kernel(
    "bitlinear",
    Tensor("x", "float32", ("n",), values="moderate", fill=fill_one_scale),
    scalar("rows"),
    scalar("cols"),
    Tensor("w", "uint8", (extent("outs", "w_stride", "w_bytes"),), align=16, values="codes", fill=_fill_w),
    scalar("w_stride"),
    scalar("outs"),
    _FACTORS[0],
    *_RESULT,
    scratch(lambda d: d["rows"] * (d["cols"] + 4)),
    dims=(
        Dim("rows", 1, 5, special=(1, 2, 3)),
        OUTS,
        Dim("cols", 16, 256, multiple=16, special=(16, 64, 128)),
        *GAPS[1:],
        KIND,
    ),
    derived={
        "n": lambda d: d["rows"] * d["cols"],
        "w_bytes": lambda d: ternary_row_bytes(d["cols"], 16),
        "w_stride": lambda d: ternary_row_bytes(d["cols"], 16) + 16 * d["w_gap"],
        "y_stride": gap_stride("outs", "y_gap"),
    },
    returns="int32",
    source="numerics 8",
    faults=(
        Fault("no rows", 1, {"rows": 0}),
        Fault("negative rows", 1, {"rows": below_zero("rows")}),
        Fault("negative rows at a misaligned w", 1, {"rows": -1}, ("w",)),
        Fault("no columns", 1, {"cols": 0}),
        Fault("columns not a multiple of 16", 1, {"cols": lambda d: d["cols"] - 8}),
        Fault("negative outs", 1, {"outs": below_zero("outs")}),
        Fault("w_stride below the codes", 1, {"w_stride": lambda d: d["cols"] // 4 - 1}),
        Fault("y_stride below outs", 1, {"y_stride": too_short("y_stride", "outs")}),
        Fault("w misaligned", 3, misalign=("w",)),
        Fault("scratch misaligned", 3, misalign=("scratch",)),
        Fault("w_stride not a multiple of 16", 3, {"w_stride": lambda d: d["w_stride"] + 8}),
    ),
)
@jit
def bitlinear(
    x: F32Array,
    rows: np.int32,
    cols: np.int32,
    w: U8Array,
    w_stride: np.int32,
    outs: np.int32,
    scale: np.float32,
    y: F32Array,
    y_stride: np.int32,
    scratch: U8Array,
) -> int:
    """quantize_ternary_s8 of the whole x float32 [rows][cols], then linear_ternary (section 8).

    Returns 0, 1, 2, 3, or 4 when an element is not finite: y is untouched.
    """
    if rows < 1 or cols < 16 or cols % 16 != 0:
        return BAD_ARGUMENT
    status = _check(cols, rows, w_stride, outs, cols, y_stride)
    if status != OK:
        return int(status)
    if misaligned(scratch) or misaligned(w) or w_stride & 15 != 0:
        return MISALIGNED
    q, a_scale = np.zeros(rows * cols, np.int8), np.zeros(1, np.float32)
    status = quantize_ternary_s8(x, q, np.int32(rows * cols), a_scale)
    if status != OK:
        return int(status)
    _multiply(q, cols, rows, w, w_stride, outs, cols, np.float32(scale) / a_scale[0], y, y_stride)
    return OK
