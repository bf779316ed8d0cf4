"""int8 dot products: one weight row, or all of them, against many activation rows.

The twins named ``_c`` are the plain C versions; they follow the same rules and have the same mirror.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from emu.kernels.dot_checks import BAD_ARGUMENT, MISALIGNED, OK, check_sizes, misaligned
from emu.kernels.shapes import (
    COLS,
    FAR,
    FAR_TOO_MANY,
    MOST,
    ROWS,
    TOO_MANY,
    TOO_MANY_STRIDE,
    X_GAP,
    alike,
    below_zero,
    block16,
    enough,
    extent,
    far_apart,
    too_short,
)
from emu.kernels.spec import Dim, Dims, Fault, Scalar, Tensor, kernel
from emu.numerics.jit import jit
from emu.numerics.types import S8Array, S32Array

Array = np.ndarray[Any, Any]

_DERIVED = {
    "padded": block16,
    "one": lambda d: 1,
    "x_stride": lambda d: d["padded"] + 16 * d["x_gap"],
    "w_stride": lambda d: d["padded"] + 16 * d.get("w_gap", 0),
    "dot_acc_stride": lambda d: 1 + d["acc_gap"],
    "gemm_acc_stride": lambda d: d.get("outs", 0) + d["acc_gap"],
}


def _pad(array: Array, rows: int, stride: int, dims: Dims) -> None:
    """Zeros from ``cols`` to the next multiple of 16 in every row; the gap to the stride stays arbitrary."""
    flat = array.reshape(-1)
    for r in range(rows):
        flat[r * stride + dims["cols"] : r * stride + dims["padded"]] = 0


def _fill_x(dims: Dims, rng: np.random.Generator, array: Array) -> None:
    _pad(array, dims["rows"], dims["x_stride"], dims)


def _fill_w_row(dims: Dims, rng: np.random.Generator, array: Array) -> None:
    _pad(array, 1, dims["padded"], dims)


def _fill_w(dims: Dims, rng: np.random.Generator, array: Array) -> None:
    _pad(array, dims["outs"], dims["w_stride"], dims)


@jit
def _dot(a: S8Array, b: S8Array, cols: np.int32) -> np.int32:
    total = np.int32(0)
    for c in range(cols):
        total = np.int32(total + np.int32(a[c]) * np.int32(b[c]))
    return total


_X = Tensor("x", "int8", (extent("rows", "x_stride", "padded"),), align=16, values="s8_full", fill=_fill_x)
_X_STRIDE = Scalar("x_stride", "int32", "x_stride")
_ROWS = Scalar("rows", "int32", "rows")
_COLS = Scalar("cols", "int32", "cols")
_ACC_GAP = Dim("acc_gap", 0, 3)

_X_ALIKE = (
    Fault("x and x_stride off alike", 3, alike("x_stride"), ("x",)),
    Fault("w and x_stride off alike", 3, alike("x_stride"), ("w",)),
)
_FAULTS = (
    Fault("negative rows", 1, {"rows": below_zero("rows")}),
    Fault("negative columns", 1, {"cols": below_zero("cols")}),
    Fault("x_stride below cols", 1, {"cols": 16, "x_stride": too_short("x_stride", 16)}),
    Fault("negative x_stride", 1, {"x_stride": below_zero("x_stride")}),
    Fault("negative rows at a misaligned x", 1, {"rows": below_zero("rows")}, misalign=("x",)),
    Fault("x misaligned", 3, misalign=("x",)),
    Fault("w misaligned", 3, misalign=("w",)),
    Fault("x and w misaligned", 3, misalign=("x", "w")),
)

_ODD_STRIDE = Fault(
    "x_stride not a multiple of 16", 3, {"x_stride": lambda d: d["x_stride"] + 1 + d["cols"] % 15}
)
_NO_ROWS = Fault("no rows", 0, {"rows": 0})
_LONG = FAR + 16
"""So many columns are no half word, and the low half of them is a good number too."""

_DOT_PARAMS = (
    _X,
    _X_STRIDE,
    _ROWS,
    Tensor("w", "int8", ("padded",), align=16, values="s8_full", fill=_fill_w_row),
    _COLS,
    Tensor("acc", "int32", (extent("rows", "dot_acc_stride", "one"),), role="out", values="s32"),
    Scalar("acc_stride", "int32", "dot_acc_stride"),
)

_DOT: dict[str, Any] = {
    "dims": (ROWS, COLS, X_GAP, _ACC_GAP),
    "derived": _DERIVED,
    "returns": "int32",
    "source": "numerics 9",
    "faults": (
        *_FAULTS,
        *_X_ALIKE,
        _ODD_STRIDE,
        _NO_ROWS,
        Fault("acc_stride below 1", 1, {"acc_stride": too_short("dot_acc_stride", 1)}),
        Fault("negative columns, no rows", 1, {"rows": 0, "cols": below_zero("cols")}),
        Fault("negative rows and columns at a misaligned x", 1, {"rows": -1, "cols": -1}, ("x",)),
        Fault("most columns, no rows", 0, {"rows": 0, "cols": MOST, "x_stride": TOO_MANY_STRIDE}),
        Fault("far too many columns", 2, {"cols": FAR_TOO_MANY, "x_stride": FAR_TOO_MANY}),
        Fault("too many columns", 2, {"cols": TOO_MANY, "x_stride": TOO_MANY_STRIDE}),
        Fault(
            "too many columns at a misaligned w", 2, {"cols": TOO_MANY, "x_stride": TOO_MANY_STRIDE}, ("w",)
        ),
    ),
    "extremes": (
        {"rows": 3, "cols": 0},
        *far_apart("x_gap", step=16, rows=3, cols=40),
        {"rows": 2, "cols": _LONG, "x_gap": 0},
        *far_apart("acc_gap", rows=3, cols=20),
    ),
}


@kernel("dot_rows_s8_c", *_DOT_PARAMS, **_DOT)
@kernel("dot_rows_s8", *_DOT_PARAMS, **_DOT)
@jit
def dot_rows_s8(
    x: S8Array,
    x_stride: np.int32,
    rows: np.int32,
    w: S8Array,
    cols: np.int32,
    acc: S32Array,
    acc_stride: np.int32,
) -> int:
    """acc[r * acc_stride] = sum of x[r * x_stride + c] * w[c] over c < cols (section 9).

    x int8 [rows][x_stride], w int8 [cols], both zero-padded to a multiple of 16 columns and at 16-byte
    boundaries, x_stride a multiple of 16; acc int32. Returns 0, 1 bad sizes or strides, 2 cols over the
    limit, 3 misaligned.
    """
    status = check_sizes(rows, cols, x_stride, np.int32(acc_stride - 1))
    if status != OK:
        return status
    if misaligned(x) or misaligned(w) or x_stride & 15 != 0:
        return MISALIGNED
    for r in range(rows):
        acc[r * acc_stride] = _dot(x[r * x_stride :], w, cols)
    return OK


dot_rows_s8_c = dot_rows_s8

_GEMM_PARAMS = (
    _X,
    _X_STRIDE,
    _ROWS,
    Tensor("w", "int8", (extent("outs", "w_stride", "padded"),), align=16, values="s8_full", fill=_fill_w),
    Scalar("w_stride", "int32", "w_stride"),
    Scalar("outs", "int32", "outs"),
    _COLS,
    Tensor("acc", "int32", (extent("rows", "gemm_acc_stride", "outs"),), role="out", values="s32"),
    Scalar("acc_stride", "int32", "gemm_acc_stride"),
)

_SIXTEEN: dict[str, Any] = {"cols": 16, **enough(16, "x_stride", "w_stride")}
_GEMM_TOO_MANY = {"cols": TOO_MANY, "x_stride": TOO_MANY_STRIDE, "w_stride": TOO_MANY_STRIDE}

_W_ALIKE = (
    Fault("x_stride and w_stride off alike", 3, alike("x_stride", "w_stride")),
    Fault("w and w_stride off alike", 3, alike("w_stride"), ("w",)),
)


def _without_rows(fault: Fault) -> Fault:
    """The same for no rows: with rows, dot_rows_s8 would notice what gemm_s8 itself has let through."""
    return replace(fault, name=f"{fault.name}, no rows", scalars={**fault.scalars, "rows": 0})


_GEMM: dict[str, Any] = {
    "dims": (
        ROWS,
        Dim("outs", 0, 7, special=(1, 2, 3)),
        COLS,
        X_GAP,
        Dim("w_gap", 0, 3),
        _ACC_GAP,
    ),
    "derived": _DERIVED,
    "returns": "int32",
    "source": "numerics 9",
    "faults": (
        *_FAULTS,
        _ODD_STRIDE,
        _NO_ROWS,
        Fault("no outs", 0, {"outs": 0}),
        Fault("negative outs", 1, {"outs": below_zero("outs")}),
        Fault("negative columns, no rows", 1, {"rows": 0, "cols": below_zero("cols")}),
        Fault("negative outs and columns, no rows", 1, {"rows": 0, "outs": -1, "cols": -1}),
        Fault("negative rows and columns at a misaligned x", 1, {"rows": -1, "cols": -1}, ("x",)),
        Fault("acc_stride one below outs", 1, {"rows": 2, "outs": 3, "acc_stride": 2}),
        Fault("x_stride alone below cols", 1, {**_SIXTEEN, "x_stride": too_short("x_stride", 16)}),
        Fault("w_stride alone below cols", 1, {**_SIXTEEN, "w_stride": too_short("w_stride", 16)}),
        Fault("acc_stride below outs", 1, {"acc_stride": too_short("gemm_acc_stride", "outs")}),
        Fault("w_stride not a multiple of 16", 3, {"w_stride": lambda d: d["w_stride"] + 8}),
        *(_without_rows(fault) for fault in (*_X_ALIKE, *_W_ALIKE)),
        Fault("most columns, no rows", 0, {**_GEMM_TOO_MANY, "rows": 0, "cols": MOST}),
        Fault("far too many columns", 2, dict.fromkeys(_GEMM_TOO_MANY, FAR_TOO_MANY)),
        Fault("too many columns", 2, _GEMM_TOO_MANY),
        Fault("too many columns at a misaligned x", 2, _GEMM_TOO_MANY, ("x",)),
    ),
    "extremes": (
        {"rows": 3, "outs": 2, "cols": 0},
        *far_apart("x_gap", "w_gap", step=16, rows=3, outs=2, cols=40),
        {"rows": 2, "outs": 1, "cols": _LONG, "x_gap": 0, "w_gap": 0},
        *far_apart("acc_gap", rows=3, outs=2, cols=20),
        {"rows": 1, "outs": 2, "cols": _LONG, "x_gap": 0, "w_gap": 0},
    ),
}


@kernel("gemm_s8_c", *_GEMM_PARAMS, **_GEMM)
@kernel("gemm_s8", *_GEMM_PARAMS, **_GEMM)
@jit
def gemm_s8(
    x: S8Array,
    x_stride: np.int32,
    rows: np.int32,
    w: S8Array,
    w_stride: np.int32,
    outs: np.int32,
    cols: np.int32,
    acc: S32Array,
    acc_stride: np.int32,
) -> int:
    """acc[r * acc_stride + o] = dot(x row r, w row o) for o < outs (section 9); acc_stride >= outs.

    x int8 [rows][x_stride], w int8 [outs][w_stride], acc int32 [rows][acc_stride]; rules and statuses of
    :func:`dot_rows_s8`, for w and w_stride as for x and x_stride.
    """
    if outs < 0 or w_stride < cols:
        return BAD_ARGUMENT
    status = check_sizes(rows, cols, x_stride, np.int32(acc_stride - outs))
    if status != OK:
        return status
    if misaligned(x) or misaligned(w) or x_stride & 15 != 0 or w_stride & 15 != 0:
        return MISALIGNED
    for r in range(rows):
        for o in range(outs):
            acc[r * acc_stride + o] = _dot(x[r * x_stride :], w[o * w_stride :], cols)
    return OK


gemm_s8_c = gemm_s8
