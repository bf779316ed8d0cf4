"""int8 linear layers: over quantized rows, adding up, and from float rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from emu.kernels.dot_checks import BAD_ARGUMENT, MISALIGNED, OK, TOO_MANY_COLUMNS, check_sizes, misaligned
from emu.kernels.layer_cases import (
    BAD,
    COLS,
    GAPS,
    OUTS,
    ROWS,
    codes,
    floats,
    gap_stride,
    pad16,
    scalar,
    scratch,
    vector,
    whole,
)
from emu.kernels.quantize import quantize_row_s8
from emu.kernels.quantize_cases import KIND, fill_rows
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
from emu.kernels.spec import Dim, Fault, Tensor, kernel
from emu.numerics.jit import jit
from emu.numerics.status import MAX_COLUMNS
from emu.numerics.types import Count, F32Array, S8Array, S32Array, U8Array

_ANY_COLS = Dim("cols", 0, 300, special=(0, 1, 15, 16, 17, 31, 32, 33, 64, 96, 192))
DERIVED = {
    "padded": whole("cols"),
    "x_stride": gap_stride("cols", "x_gap", 16),
    "w_stride": gap_stride("cols", "w_gap", 16),
    "y_stride": gap_stride("outs", "y_gap"),
}
_W = (codes("w", "outs", "w_stride", "cols", "padded"), scalar("w_stride"))
_FACTORS = (vector("sw", "outs"), vector("b", "outs"))
_SIZES = (scalar("outs"), scalar("cols"))
_TOO_MANY = {"cols": TOO_MANY, "x_stride": TOO_MANY_STRIDE, "w_stride": TOO_MANY_STRIDE}
_FAULTS = (
    Fault("negative rows", 1, {"rows": below_zero("rows")}),
    Fault("negative outs", 1, {"outs": below_zero("outs")}),
    Fault("negative columns", 1, {"cols": below_zero("cols")}),
    Fault("x_stride below cols", 1, {"cols": 16, "x_stride": too_short("x_stride", 16)}),
    Fault("w_stride below cols", 1, {"cols": 16, "w_stride": too_short("w_stride", 16)}),
    Fault("y_stride below outs", 1, {"y_stride": too_short("y_stride", "outs")}),
    Fault("no rows", 0, {"rows": 0}),
    Fault("negative rows at a misaligned w", 1, {"rows": below_zero("rows")}, ("w",)),
    Fault("negative rows and outs at a misaligned w", 1, {"rows": -1, "outs": -1}, ("w",)),
    Fault("most columns, no rows", 0, {**_TOO_MANY, "rows": 0, "cols": MOST}),
    Fault("far too many columns", 2, dict.fromkeys(_TOO_MANY, FAR_TOO_MANY)),
    Fault("too many columns", 2, _TOO_MANY),
    Fault("too many columns at a misaligned w", 2, _TOO_MANY, ("w",)),
    Fault("w misaligned", 3, misalign=("w",)),
    Fault("scratch misaligned", 3, misalign=("scratch",)),
    Fault("w and w_stride off alike", 3, alike("w_stride"), ("w",)),
    Fault("w_stride not a multiple of 16", 3, {"w_stride": lambda d: d["w_stride"] + 8}),
)
_X_FAULTS = (
    Fault("x misaligned", 3, misalign=("x",)),
    Fault("x and x_stride off alike", 3, alike("x_stride"), ("x",)),
    Fault("x_stride and w_stride off alike", 3, alike("x_stride", "w_stride")),
    Fault("x_stride not a multiple of 16", 3, {"x_stride": lambda d: d["x_stride"] + 1}),
)


@jit
def check_linear(
    x: S8Array,
    x_stride: np.int32,
    rows: np.int32,
    w: S8Array,
    w_stride: np.int32,
    outs: np.int32,
    cols: np.int32,
    y_stride: np.int32,
    scratch: U8Array,
) -> int:
    """Status of sizes, then columns, then alignment of int8 rows against int8 weight rows."""
    if outs < 0 or w_stride < cols or y_stride < outs:
        return BAD_ARGUMENT
    status = check_sizes(rows, cols, x_stride, np.int32(0))
    if status != OK:
        return status
    if misaligned(scratch) or misaligned(x) or misaligned(w) or x_stride & 15 != 0 or w_stride & 15 != 0:
        return MISALIGNED
    return OK


@jit
def dot(x: S8Array, xi: Count, w: S8Array, wi: Count, cols: Count) -> np.int32:
    """Sum of products of ``cols`` elements from xi and wi on."""
    total = np.int32(0)
    for c in range(cols):
        total = np.int32(total + np.int32(x[xi + c]) * np.int32(w[wi + c]))
    return total


_FAR = 4096
"""A gap, in vectors, that makes a stride longer than a half word; its low half is a good stride too."""
_Q8: dict[str, Any] = {
    "dims": (ROWS, OUTS, _ANY_COLS, *GAPS),
    "derived": DERIVED,
    "returns": "int32",
    "source": "numerics 10",
    "faults": (*_FAULTS, Fault("no outs", 0, {"outs": 0}), *_X_FAULTS),
    "extremes": (
        {"rows": 3, "outs": 2, "cols": 0},
        {"rows": 3, "outs": 2, "cols": 40, "x_gap": _FAR},
        {"rows": 2, "outs": 3, "cols": 40, "w_gap": _FAR},
        {"rows": 3, "outs": 2, "cols": 20, "y_gap": 1 << 16},
        {"rows": 2, "outs": 1, "cols": 1 << 16 | 16, "x_gap": 0, "w_gap": 0},
    ),
}
_Q8_X = (
    codes("x", "rows", "x_stride", "cols", "padded"),
    scalar("x_stride"),
    vector("sx", "rows"),
    scalar("rows"),
)
_Q8_SCRATCH = scratch(lambda d: 8 * d["rows"])


def _results(role: Any) -> tuple[Any, ...]:
    return floats("y", "rows", "y_stride", "outs", role=role), scalar("y_stride"), _Q8_SCRATCH


_LINEAR_PARAMS = (*_Q8_X, *_W, *_FACTORS, *_SIZES, *_results("out"))


@kernel("linear_q8_c", *_LINEAR_PARAMS, **_Q8)
@kernel("linear_q8", *_LINEAR_PARAMS, **_Q8)
@jit
def linear_q8(
    x: S8Array,
    x_stride: np.int32,
    sx: F32Array,
    rows: np.int32,
    w: S8Array,
    w_stride: np.int32,
    sw: F32Array,
    b: F32Array,
    outs: np.int32,
    cols: np.int32,
    y: F32Array,
    y_stride: np.int32,
    scratch: U8Array,
) -> int:
    """y[r][o] = (float)dot * (sx[r] * sw[o]) + b[o] for quantized rows (section 10).

    x int8 [rows][x_stride], w int8 [outs][w_stride], zero-padded rows at 16-byte boundaries; y float32
    [rows][y_stride]. Returns 0, 1 bad sizes, 2 too many columns, 3 misaligned.
    """
    status = check_linear(x, x_stride, rows, w, w_stride, outs, cols, y_stride, scratch)
    if status != OK:
        return status
    for r in range(rows):
        for o in range(outs):
            acc = np.float32(dot(x, r * x_stride, w, o * w_stride, cols))
            y[r * y_stride + o] = acc * (sx[r] * sw[o]) + b[o]
    return OK


linear_q8_c = linear_q8

_ACCUMULATE_PARAMS = (*_Q8_X, *_W, _FACTORS[0], *_SIZES, *_results("inout"))


@kernel("accumulate_q8_c", *_ACCUMULATE_PARAMS, **_Q8)
@kernel("accumulate_q8", *_ACCUMULATE_PARAMS, **_Q8)
@jit
def accumulate_q8(
    x: S8Array,
    x_stride: np.int32,
    sx: F32Array,
    rows: np.int32,
    w: S8Array,
    w_stride: np.int32,
    sw: F32Array,
    outs: np.int32,
    cols: np.int32,
    y: F32Array,
    y_stride: np.int32,
    scratch: U8Array,
) -> int:
    """y[r][o] = y[r][o] + (float)dot * (sx[r] * sw[o]); rules of :func:`linear_q8` (section 10)."""
    status = check_linear(x, x_stride, rows, w, w_stride, outs, cols, y_stride, scratch)
    if status != OK:
        return status
    for r in range(rows):
        for o in range(outs):
            acc = np.float32(dot(x, r * x_stride, w, o * w_stride, cols))
            y[r * y_stride + o] = y[r * y_stride + o] + acc * (sx[r] * sw[o])
    return OK


accumulate_q8_c = accumulate_q8


@jit
def quantize_padded(
    x: F32Array, x_stride: np.int32, rows: np.int32, cols: np.int32, scale: F32Array, bad: S32Array
) -> tuple[int, S8Array]:
    """(status of quantize_row_s8, rows [rows][cols rounded up to 16], zero-padded)."""
    stride = np.int32((cols + 15) & ~15)
    q = np.zeros(rows * stride, np.int8)
    return quantize_row_s8(x, x_stride, q, stride, scale, rows, cols, bad), q


@kernel(
    "linear_w8a8",
    Tensor("x", "float32", (extent("rows", "x_stride", "cols"),), values="moderate", fill=fill_rows),
    scalar("x_stride"),
    scalar("rows"),
    *_W,
    *_FACTORS,
    *_SIZES,
    floats("y", "rows", "y_stride", "outs", role="out"),
    scalar("y_stride"),
    scratch(lambda d: d["rows"] * (pad16(d["cols"]) + 12)),
    BAD,
    dims=(ROWS, OUTS, COLS, *GAPS, KIND),
    derived={**DERIVED, "x_stride": gap_stride("cols", "x_gap")},
    returns="int32",
    source="numerics 10",
    faults=(*(f for f in _FAULTS if f.name != "negative columns"), Fault("no columns", 1, {"cols": 0})),
)
@jit
def linear_w8a8(
    x: F32Array,
    x_stride: np.int32,
    rows: np.int32,
    w: S8Array,
    w_stride: np.int32,
    sw: F32Array,
    b: F32Array,
    outs: np.int32,
    cols: np.int32,
    y: F32Array,
    y_stride: np.int32,
    scratch: U8Array,
    bad: S32Array,
) -> int:
    """Rows of float32 x by quantize_row_s8, then linear_q8 (section 10).

    Returns 0, 1, 2, 3 as :func:`linear_q8`, 4 when a row is not finite: bad[0] is the row, y is untouched.
    """
    if rows < 0 or cols < 1 or x_stride < cols:
        return BAD_ARGUMENT
    if cols > MAX_COLUMNS:
        return BAD_ARGUMENT if outs < 0 or w_stride < cols or y_stride < outs else TOO_MANY_COLUMNS
    if outs < 0 or w_stride < cols or y_stride < outs:
        return BAD_ARGUMENT
    if misaligned(scratch) or misaligned(w) or w_stride & 15 != 0:
        return MISALIGNED
    sx = np.zeros(rows, np.float32)
    status, q = quantize_padded(x, x_stride, rows, cols, sx, bad)
    if status != OK:
        return status
    stride = np.int32((cols + 15) & ~15)
    for r in range(rows):
        for o in range(outs):
            acc = np.float32(dot(q, r * stride, w, o * w_stride, cols))
            y[r * y_stride + o] = acc * (sx[r] * sw[o]) + b[o]
    return OK
