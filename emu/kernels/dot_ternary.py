"""Dot products of int8 activations with a packed ternary weight row."""

from __future__ import annotations

from typing import Any

import numpy as np

from emu.kernels.dot_checks import MISALIGNED, OK, check_sizes, misaligned
from emu.kernels.packed_cases import DOWN, LONG_COLS, RUN, UP, fill_run
from emu.kernels.shapes import (
    FAR_TOO_MANY,
    MOST,
    ROWS,
    TOO_MANY,
    TOO_MANY_STRIDE,
    X_GAP,
    alike,
    below_zero,
    block16,
    extent,
    far_apart,
    too_short,
)
from emu.kernels.spec import Dim, Dims, Fault, Scalar, Tensor, kernel
from emu.numerics.jit import jit
from emu.numerics.ternary import ZERO_BYTE, ternary_row_bytes
from emu.numerics.types import S8Array, S32Array, U8Array

Array = np.ndarray[Any, Any]

_RUN_BYTES = {UP: 0xAA, DOWN: 0x00}

_DIMS = (
    ROWS,
    LONG_COLS,
    X_GAP,
    Dim("acc_gap", 0, 3),
    RUN,
)

_DERIVED = {
    "padded": block16,
    "one": lambda d: 1,
    "acc_stride": lambda d: 1 + d["acc_gap"],
}


_FULL_SUMS = tuple({"run": run, "rows": 2, "cols": 4805} for run in (UP, DOWN))
"""Rows whose sums leave 16 bits in each of 16 lanes, upwards and downwards: 300 products of 127 and more."""


def _valid_codes(dims: Dims, array: Array) -> Array:
    """Turn the invalid code 11 into 01 everywhere, keep the other codes; returns the flat array."""
    flat = array.reshape(-1)
    invalid = (flat & (flat >> 1)) & 0x55
    flat ^= invalid << 1
    if dims["run"] in _RUN_BYTES:
        flat[:] = _RUN_BYTES[dims["run"]]
    return flat


def _fill_w_padded(dims: Dims, rng: np.random.Generator, array: Array) -> None:
    """Codes of the columns, then 01 to the end of the last 16-byte block."""
    flat = _valid_codes(dims, array)
    whole, rest = divmod(dims["cols"], 4)
    if rest:
        keep = (1 << (2 * rest)) - 1
        flat[whole] = (int(flat[whole]) & keep) | (ZERO_BYTE & ~keep & 0xFF)
        whole += 1
    flat[whole:] = ZERO_BYTE


def _fill_w_bare(dims: Dims, rng: np.random.Generator, array: Array) -> None:
    """Codes of the columns; unused fields of the last byte stay arbitrary, for they must not be read."""
    _valid_codes(dims, array)


def _fill_x_padded(dims: Dims, rng: np.random.Generator, array: Array) -> None:
    fill_run(dims, array)
    flat = array.reshape(-1)
    for r in range(dims["rows"]):
        start = r * dims["x_stride"]
        flat[start + dims["cols"] : start + dims["padded"]] = 0


def _fill_x_bare(dims: Dims, rng: np.random.Generator, array: Array) -> None:
    fill_run(dims, array)


@jit
def _dot(x: S8Array, w: U8Array, cols: np.int32) -> np.int32:
    """Sum of (code - 1) * x; the code of column c is in bits 2 * (c % 4) of byte c // 4."""
    total = np.int32(0)
    for c in range(cols):
        code = (w[c >> 2] >> ((c & 3) << 1)) & 3
        total = np.int32(total + np.int32(x[c]) * np.int32(np.int32(code) - 1))
    return total


@jit
def _dot_rows(
    x: S8Array,
    x_stride: np.int32,
    rows: np.int32,
    w: U8Array,
    cols: np.int32,
    acc: S32Array,
    acc_stride: np.int32,
) -> int:
    for r in range(rows):
        acc[r * acc_stride] = _dot(x[r * x_stride :], w, cols)
    return OK


_X_STRIDE = Scalar("x_stride", "int32", "x_stride")
_ROWS = Scalar("rows", "int32", "rows")
_COLS = Scalar("cols", "int32", "cols")
_ACC = Tensor("acc", "int32", (extent("rows", "acc_stride", "one"),), role="out", values="s32")
_ACC_STRIDE = Scalar("acc_stride", "int32", "acc_stride")

_SIZE_FAULTS = (
    Fault("negative rows", 1, {"rows": below_zero("rows")}),
    Fault("negative columns", 1, {"cols": below_zero("cols")}),
    Fault("x_stride below cols", 1, {"cols": 16, "x_stride": too_short("x_stride", 16)}),
    Fault("acc_stride below 1", 1, {"acc_stride": too_short("acc_stride", 1)}),
    Fault("most columns, no rows", 0, {"rows": 0, "cols": MOST, "x_stride": TOO_MANY_STRIDE}),
    Fault("far too many columns", 2, {"cols": FAR_TOO_MANY, "x_stride": FAR_TOO_MANY}),
    Fault("too many columns", 2, {"cols": TOO_MANY, "x_stride": TOO_MANY_STRIDE}),
)


@kernel(
    "dot_rows_ternary",
    Tensor("x", "int8", (extent("rows", "x_stride", "padded"),), align=16, values="s8", fill=_fill_x_padded),
    _X_STRIDE,
    _ROWS,
    Tensor("w", "uint8", ("w_bytes",), align=16, values="codes", fill=_fill_w_padded, neutral=ZERO_BYTE),
    _COLS,
    _ACC,
    _ACC_STRIDE,
    dims=_DIMS,
    derived={
        **_DERIVED,
        "x_stride": lambda d: d["padded"] + 16 * d["x_gap"],
        "w_bytes": lambda d: ternary_row_bytes(d["cols"], 16),
    },
    returns="int32",
    source="numerics 8",
    extremes=(
        *far_apart("x_gap", step=16, rows=2, cols=40),
        *far_apart("acc_gap", rows=2, cols=40),
        *_FULL_SUMS,
    ),
    faults=(
        *_SIZE_FAULTS,
        Fault(
            "too many columns at a misaligned x", 2, {"cols": TOO_MANY, "x_stride": TOO_MANY_STRIDE}, ("x",)
        ),
        Fault("x misaligned", 3, misalign=("x",)),
        Fault("w misaligned", 3, misalign=("w",)),
        Fault("x and x_stride off alike", 3, alike("x_stride"), ("x",)),
        Fault("w and x_stride off alike", 3, alike("x_stride"), ("w",)),
        Fault("x_stride not a multiple of 16", 3, {"x_stride": lambda d: d["x_stride"] + 4}),
    ),
)
@jit
def dot_rows_ternary(
    x: S8Array,
    x_stride: np.int32,
    rows: np.int32,
    w: U8Array,
    cols: np.int32,
    acc: S32Array,
    acc_stride: np.int32,
) -> int:
    """acc[r * acc_stride] = sum of (code[c] - 1) * x[r * x_stride + c] over c < cols (section 8).

    x int8 [rows][x_stride], zero-padded to a multiple of 16 columns; w uint8, one packed row padded with 01
    to a multiple of 16 bytes; both at 16-byte boundaries, x_stride a multiple of 16; acc int32. Returns 0, 1
    bad sizes or strides, 2 cols over the limit, 3 misaligned.
    """
    status = check_sizes(rows, cols, x_stride, np.int32(acc_stride - 1))
    if status != OK:
        return status
    if misaligned(x) or misaligned(w) or x_stride & 15 != 0:
        return MISALIGNED
    return _dot_rows(x, x_stride, rows, w, cols, acc, acc_stride)


@kernel(
    "dot_rows_ternary_c",
    Tensor("x", "int8", (extent("rows", "x_stride", "cols"),), values="s8", fill=_fill_x_bare),
    _X_STRIDE,
    _ROWS,
    Tensor("w", "uint8", ("w_bytes",), values="codes", fill=_fill_w_bare, neutral=ZERO_BYTE),
    _COLS,
    _ACC,
    _ACC_STRIDE,
    dims=_DIMS,
    derived={
        **_DERIVED,
        "x_stride": lambda d: d["cols"] + d["x_gap"],
        "w_bytes": lambda d: ternary_row_bytes(d["cols"]),
    },
    returns="int32",
    source="numerics 8",
    extremes=(*far_apart("x_gap", "acc_gap", rows=2, cols=40), *_FULL_SUMS),
    faults=_SIZE_FAULTS,
)
@jit
def dot_rows_ternary_c(
    x: S8Array,
    x_stride: np.int32,
    rows: np.int32,
    w: U8Array,
    cols: np.int32,
    acc: S32Array,
    acc_stride: np.int32,
) -> int:
    """The sums of :func:`dot_rows_ternary` for any alignment, reading no padding; statuses 0, 1, 2."""
    status = check_sizes(rows, cols, x_stride, np.int32(acc_stride - 1))
    if status != OK:
        return status
    return _dot_rows(x, x_stride, rows, w, cols, acc, acc_stride)
