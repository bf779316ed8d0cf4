"""int4 linear layers: one activation row against packed rows with a binary16 scale per group."""

from __future__ import annotations

from typing import Any

import numpy as np

from emu.kernels.dot_checks import BAD_ARGUMENT, MISALIGNED, OK, TOO_MANY_COLUMNS, misaligned
from emu.kernels.layer_cases import pad16, scalar, scratch, vector, whole
from emu.kernels.quantize_cases import KIND, fill_one_scale
from emu.kernels.shapes import FAR_TOO_MANY, MOST, TOO_MANY, alike, below_zero, extent
from emu.kernels.softmax import quantize_one
from emu.kernels.spec import Dim, Dims, Fault, Scalar, Tensor, kernel
from emu.numerics.constants import ZERO
from emu.numerics.half import widen_f16
from emu.numerics.int4 import int4_row_bytes
from emu.numerics.jit import jit
from emu.numerics.status import MAX_COLUMNS
from emu.numerics.types import F32Array, S8Array, S32Array, U8Array, U16Array

Array = np.ndarray[Any, Any]
_NOT_FINITE = 4
_NOT_FINITE_SHARE = 0.15
_NOT_FINITE_HALVES = np.array([0x7C00, 0xFC00, 0x7E00, 0x7C01, 0xFFFF], np.uint16)


def _fill_x(dims: Dims, rng: np.random.Generator, array: Array) -> None:
    array.reshape(-1)[dims["cols"] :] = 0


def _fill_w(dims: Dims, rng: np.random.Generator, array: Array) -> None:
    """Zeros behind the codes of each row, to the end of its last vector."""
    flat = array.reshape(-1)
    used = int4_row_bytes(dims["cols"])
    for start in range(0, flat.size, max(dims["w_stride"], 1)):
        if dims["cols"] & 1:
            flat[start + used - 1] &= 0x0F
        flat[start + used : start + dims["w_bytes"]] = 0


def _fill_scale(dims: Dims, rng: np.random.Generator, array: Array) -> None:
    """Mostly no infinities and no NaN, as in model files; sometimes one at least."""
    flat = array.reshape(-1)
    if rng.random() < _NOT_FINITE_SHARE:
        if flat.size:
            flat[rng.integers(flat.size)] = rng.choice(_NOT_FINITE_HALVES)
    else:
        flat[(flat & 0x7C00) == 0x7C00] &= 0xBFFF


@jit
def _check(cols: np.int32, w_stride: np.int32, group: np.int32, outs: np.int32) -> int:
    if cols < 0 or outs < 0 or group < 16 or group % 16 != 0 or w_stride < (cols + 1) // 2:
        return BAD_ARGUMENT
    return TOO_MANY_COLUMNS if cols > MAX_COLUMNS else OK


@jit
def _multiply(
    x: S8Array,
    sx: np.float32,
    cols: np.int32,
    w: U8Array,
    w_stride: np.int32,
    scale: U16Array,
    group: np.int32,
    outs: np.int32,
    y: F32Array,
) -> None:
    groups = (cols + group - 1) // group
    for o in range(outs):
        total = ZERO
        for g in range(groups):
            acc = np.int32(0)
            for c in range(g * group, min((g + 1) * group, cols)):
                nibble = np.int32((w[o * w_stride + (c >> 1)] >> ((c & 1) << 2)) & 15)
                acc = np.int32(acc + np.int32(x[c]) * np.int32((nibble ^ 8) - 8))
            total += np.float32(acc) * widen_f16(scale[o * groups + g])
        y[o] = total * sx


_DIMS = (
    Dim("cols", 0, 450, special=(0, 1, 15, 16, 17, 31, 32, 33, 64, 128, 415)),
    Dim("group", 16, 160, multiple=16, special=(16, 32, 128)),
    Dim("outs", 0, 7, special=(1, 2, 3)),
    Dim("w_gap", 0, 3),
)
_GROUPS = {"groups": lambda d: -(-d["cols"] // d["group"]), "scales": lambda d: d["outs"] * d["groups"]}
_PADDED = {
    **_GROUPS,
    "padded": whole("cols"),
    "w_bytes": lambda d: int4_row_bytes(d["cols"], 16),
    "w_stride": lambda d: int4_row_bytes(d["cols"], 16) + 16 * d["w_gap"],
}
_SCALE = Tensor("scale", "uint16", ("scales",), values="bits", fill=_fill_scale)
_SX = Scalar("sx", "float32", values="(0,16]")
_W = Tensor("w", "uint8", (extent("outs", "w_stride", "w_bytes"),), align=16, values="codes", fill=_fill_w)
_SHORT = int4_row_bytes(MOST) - 1
_LONG = {"cols": TOO_MANY, "w_stride": int4_row_bytes(TOO_MANY, 16)}
_FAULTS = (
    Fault("negative columns", 1, {"cols": below_zero("cols")}),
    Fault("negative outs", 1, {"outs": below_zero("outs")}),
    Fault("group 0", 1, {"group": 0}),
    Fault("group not a multiple of 16", 1, {"group": lambda d: d["group"] + 8}),
    Fault("w_stride below the codes", 1, {"cols": 32, "w_stride": 15}),
    Fault("w_stride one short of most columns, no outs", 1, {"outs": 0, "cols": MOST, "w_stride": _SHORT}),
    Fault("far too many columns", 2, dict.fromkeys(_LONG, FAR_TOO_MANY)),
    Fault("too many columns", 2, _LONG),
)
_NO_COLUMNS = tuple({"cols": 0, "outs": 3, "group": group} for group in (32, 16, 64))
_NO_OUTS = Fault("no outs", 0, {"outs": 0})
_ALIGNED_FAULTS = (
    Fault("w misaligned", 3, misalign=("w",)),
    Fault("w and w_stride off alike", 3, alike("w_stride"), ("w",)),
    Fault("w_stride not a multiple of 16", 3, {"w_stride": lambda d: d["w_stride"] + 8}),
)


@kernel(
    "linear_int4_q8",
    Tensor("x", "int8", ("padded",), align=16, values="s8_full", fill=_fill_x),
    _SX,
    scalar("cols"),
    _W,
    scalar("w_stride"),
    _SCALE,
    scalar("group"),
    scalar("outs"),
    vector("y", "outs", role="out"),
    scratch("groups", "acc", "int32"),
    dims=_DIMS,
    derived=_PADDED,
    returns="int32",
    source="numerics 10",
    extremes=_NO_COLUMNS,
    faults=(*_FAULTS, _NO_OUTS, *_ALIGNED_FAULTS, Fault("x misaligned", 3, misalign=("x",))),
)
@jit
def linear_int4_q8(
    x: S8Array,
    sx: np.float32,
    cols: np.int32,
    w: U8Array,
    w_stride: np.int32,
    scale: U16Array,
    group: np.int32,
    outs: np.int32,
    y: F32Array,
    acc: S32Array,
) -> int:
    """y[o] = (sum over groups, ascending from +0, of (float)dot * (float)scale[o][g]) * sx (section 10).

    x int8 [cols], w uint8 [outs][w_stride], scale binary16 [outs][groups], y float32 [outs]. Returns 0, 1 bad
    sizes, 2 too many columns, 3 misaligned.
    """
    status = _check(cols, w_stride, group, outs)
    if status != OK:
        return status
    if misaligned(x) or misaligned(w) or w_stride & 15 != 0:
        return MISALIGNED
    _multiply(x, np.float32(sx), cols, w, w_stride, scale, group, outs, y)
    return OK


@kernel(
    "linear_int4_q8_c",
    Tensor("x", "int8", ("cols",), values="s8_full"),
    _SX,
    scalar("cols"),
    Tensor("w", "uint8", (extent("outs", "w_stride", "w_bytes"),), values="codes"),
    scalar("w_stride"),
    _SCALE,
    scalar("group"),
    scalar("outs"),
    vector("y", "outs", role="out"),
    scratch("groups", "acc", "int32"),
    dims=_DIMS,
    derived={
        **_GROUPS,
        "w_bytes": lambda d: int4_row_bytes(d["cols"]),
        "w_stride": lambda d: int4_row_bytes(d["cols"]) + d["w_gap"],
    },
    returns="int32",
    source="numerics 10",
    extremes=_NO_COLUMNS,
    faults=(*_FAULTS, _NO_OUTS),
)
@jit
def linear_int4_q8_c(
    x: S8Array,
    sx: np.float32,
    cols: np.int32,
    w: U8Array,
    w_stride: np.int32,
    scale: U16Array,
    group: np.int32,
    outs: np.int32,
    y: F32Array,
    acc: S32Array,
) -> int:
    """The results of :func:`linear_int4_q8` for any alignment, reading no padding (section 10); 0, 1, 2."""
    status = _check(cols, w_stride, group, outs)
    if status != OK:
        return status
    _multiply(x, np.float32(sx), cols, w, w_stride, scale, group, outs, y)
    return OK


@kernel(
    "linear_int4",
    Tensor("x", "float32", ("cols",), values="moderate", fill=fill_one_scale),
    scalar("cols"),
    _W,
    scalar("w_stride"),
    _SCALE,
    scalar("group"),
    scalar("outs"),
    vector("y", "outs", role="out"),
    scratch(lambda d: pad16(d["cols"]) + 4 * d["groups"]),
    dims=(Dim("cols", 1, 450, special=_DIMS[0].special[1:]), *_DIMS[1:], KIND),
    derived=_PADDED,
    returns="int32",
    source="numerics 10",
    faults=(
        *_FAULTS,
        *_ALIGNED_FAULTS,
        Fault("no columns", 1, {"cols": 0}),
        Fault("scratch misaligned", 3, misalign=("scratch",)),
    ),
)
@jit
def linear_int4(
    x: F32Array,
    cols: np.int32,
    w: U8Array,
    w_stride: np.int32,
    scale: U16Array,
    group: np.int32,
    outs: np.int32,
    y: F32Array,
    scratch: U8Array,
) -> int:
    """quantize_row_s8 of float32 x [cols], then linear_int4_q8 (section 10).

    Returns 0, 1, 2, 3, or 4 when x is not finite: y is untouched.
    """
    if cols < 1:
        return BAD_ARGUMENT
    status = _check(cols, w_stride, group, outs)
    if status != OK:
        return status
    if misaligned(scratch) or misaligned(w) or w_stride & 15 != 0:
        return MISALIGNED
    q = np.zeros(cols, np.int8)
    finite, sx = quantize_one(x, q, cols)
    if not finite:
        return _NOT_FINITE
    _multiply(q, sx, cols, w, w_stride, scale, group, outs, y)
    return OK
