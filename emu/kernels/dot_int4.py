"""Dot products of int8 activations with a packed int4 weight row, one sum per group of columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from emu.kernels.dot_checks import BAD_ARGUMENT, MISALIGNED, OK, TOO_MANY_COLUMNS, misaligned
from emu.kernels.packed_cases import DOWN, LONG_COLS, RUN, UP, fill_run
from emu.kernels.shapes import TOO_MANY, below_zero, block16
from emu.kernels.spec import Dim, Dims, Fault, Scalar, Tensor, kernel
from emu.numerics.int4 import int4_row_bytes
from emu.numerics.jit import jit
from emu.numerics.status import MAX_COLUMNS
from emu.numerics.types import S8Array, S32Array, U8Array

Array = np.ndarray[Any, Any]

_RUN_BYTES = {UP: 0x77, DOWN: 0x88}

_DIMS = (
    LONG_COLS,
    Dim("group", 16, 256, multiple=16, special=(16, 32, 128)),
    RUN,
)

_DERIVED = {
    "padded": block16,
    "groups": lambda d: -(-d["cols"] // d["group"]),
}


def _fill_x_padded(dims: Dims, rng: np.random.Generator, array: Array) -> None:
    fill_run(dims, array)
    array.reshape(-1)[dims["cols"] :] = 0


def _fill_x_bare(dims: Dims, rng: np.random.Generator, array: Array) -> None:
    fill_run(dims, array)


def _fill_w_bare(dims: Dims, rng: np.random.Generator, array: Array) -> None:
    """Any codes; the unused nibble of an odd row stays arbitrary, for it must not be read."""
    if dims["run"] in _RUN_BYTES:
        array[...] = _RUN_BYTES[dims["run"]]


def _fill_w_padded(dims: Dims, rng: np.random.Generator, array: Array) -> None:
    """Codes of the columns, then 0 to the end of the last 16-byte block."""
    _fill_w_bare(dims, rng, array)
    flat = array.reshape(-1)
    flat[int4_row_bytes(dims["cols"]) :] = 0
    if dims["cols"] & 1:
        flat[dims["cols"] >> 1] &= 0x0F


@jit
def _code(w: U8Array, c: int) -> np.int32:
    """Code of column c: even columns in the low nibble, two's complement."""
    nibble = np.int32((w[c >> 1] >> ((c & 1) << 2)) & 15)
    return np.int32((nibble ^ 8) - 8)


@jit
def _dot_groups(x: S8Array, w: U8Array, cols: np.int32, group: np.int32, acc: S32Array) -> int:
    for first in range(0, cols, group):
        total = np.int32(0)
        for c in range(first, min(first + group, cols)):
            total = np.int32(total + np.int32(x[c]) * _code(w, c))
        acc[first // group] = total
    return OK


@jit
def _check(cols: np.int32, group: np.int32) -> int:
    if cols < 0 or group < 16 or group & 15 != 0:
        return BAD_ARGUMENT
    if cols > MAX_COLUMNS:
        return TOO_MANY_COLUMNS
    return OK


_ACC = Tensor("acc", "int32", ("groups",), role="out", values="s32")
_COLS = Scalar("cols", "int32", "cols")
_GROUP = Scalar("group", "int32", "group")

_SIZE_FAULTS = (
    Fault("negative columns", 1, {"cols": below_zero("cols")}),
    Fault("group 0", 1, {"group": 0}),
    Fault("negative group", 1, {"group": below_zero("group")}),
    Fault("group not a multiple of 16", 1, {"group": lambda d: d["group"] + 8}),
    Fault("group below 16", 1, {"group": 4}),
    Fault("too many columns", 2, {"cols": TOO_MANY}),
)


@kernel(
    "dot_groups_int4",
    Tensor("x", "int8", ("padded",), align=16, values="s8", fill=_fill_x_padded),
    Tensor("w", "uint8", ("w_bytes",), align=16, values="codes", fill=_fill_w_padded),
    _COLS,
    _GROUP,
    _ACC,
    dims=_DIMS,
    derived={**_DERIVED, "w_bytes": lambda d: int4_row_bytes(d["cols"], 16)},
    returns="int32",
    source="numerics 8",
    faults=(
        *_SIZE_FAULTS,
        Fault("bad group at a misaligned w", 1, {"group": 24}, ("w",)),
        Fault("too many columns at a misaligned x", 2, {"cols": TOO_MANY}, ("x",)),
        Fault("x misaligned", 3, misalign=("x",)),
        Fault("w misaligned", 3, misalign=("w",)),
    ),
)
@jit
def dot_groups_int4(x: S8Array, w: U8Array, cols: np.int32, group: np.int32, acc: S32Array) -> int:
    """acc[g] = sum of code[c] * x[c] over the columns of group g, the last group may be short (section 8).

    x int8, zero-padded to a multiple of 16 columns; w uint8, one packed row zero-padded to a multiple of 16
    bytes; both at 16-byte boundaries; acc int32 [ceil(cols / group)]. Returns 0, 1 for negative cols or a
    group that is not a positive multiple of 16, 2 cols over the limit, 3 misaligned.
    """
    status = _check(cols, group)
    if status != OK:
        return status
    if misaligned(x) or misaligned(w):
        return MISALIGNED
    return _dot_groups(x, w, cols, group, acc)


@kernel(
    "dot_groups_int4_c",
    Tensor("x", "int8", ("cols",), values="s8", fill=_fill_x_bare),
    Tensor("w", "uint8", ("w_bytes",), values="codes", fill=_fill_w_bare),
    _COLS,
    _GROUP,
    _ACC,
    dims=_DIMS,
    derived={**_DERIVED, "w_bytes": lambda d: int4_row_bytes(d["cols"])},
    returns="int32",
    source="numerics 8",
    faults=_SIZE_FAULTS,
)
@jit
def dot_groups_int4_c(x: S8Array, w: U8Array, cols: np.int32, group: np.int32, acc: S32Array) -> int:
    """The sums of :func:`dot_groups_int4` for any alignment, reading no padding; statuses 0, 1, 2."""
    status = _check(cols, group)
    if status != OK:
        return status
    return _dot_groups(x, w, cols, group, acc)
