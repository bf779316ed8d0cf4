"""Two int8 linear layers with GELU between them, the hidden vector in groups."""

from __future__ import annotations

import numpy as np

from emu.kernels.dot_checks import BAD_ARGUMENT, MISALIGNED, OK, TOO_MANY_COLUMNS, misaligned
from emu.kernels.layer_cases import (
    BAD,
    codes,
    floats,
    gap_stride,
    pad16,
    scalar,
    scratch,
    table_fill,
    vector,
    whole,
)
from emu.kernels.linear_q8 import dot, quantize_padded
from emu.kernels.quantize import quantize_row_s8
from emu.kernels.quantize_cases import KIND, fill_rows
from emu.kernels.shapes import TOO_MANY, TOO_MANY_STRIDE, below_zero, extent, far_apart, too_short
from emu.kernels.spec import Dim, Fault, Scalar, Tensor, kernel
from emu.numerics.activations import gelu
from emu.numerics.jit import jit
from emu.numerics.status import MAX_COLUMNS
from emu.numerics.tables import table
from emu.numerics.types import F32Array, S8Array, S32Array, U8Array

_DIMS = (
    Dim("rows", 0, 4, special=(1, 2)),
    Dim("cols", 1, 100, special=(1, 16, 17, 96)),
    Dim("group", 16, 96, multiple=16, special=(16, 96)),
    Dim("groups", 1, 3),
    Dim("outs", 0, 7, special=(1, 2)),
    *(Dim(f"{name}_gap", 0, 2) for name in ("x", "w1", "w2", "y")),
    KIND,
)
_DERIVED = {
    "padded": whole("cols"),
    "hidden": lambda d: d["group"] * d["groups"],
    "x_stride": gap_stride("cols", "x_gap"),
    "w1_stride": gap_stride("cols", "w1_gap", 16),
    "w2_stride": gap_stride("hidden", "w2_gap", 16),
    "y_stride": gap_stride("outs", "y_gap"),
}
_FAULTS = (
    Fault("negative rows", 1, {"rows": below_zero("rows")}),
    Fault("no columns", 1, {"cols": 0}),
    Fault("nothing hidden", 1, {"hidden": 0}),
    Fault("negative outs", 1, {"outs": below_zero("outs")}),
    Fault("group 0", 1, {"group": 0}),
    Fault("group not a multiple of 16", 1, {"group": 24}),
    Fault("group does not divide hidden", 1, {"group": lambda d: 16 + 16 * d["hidden"]}),
    Fault("x_stride below cols", 1, {"x_stride": too_short("x_stride", "cols")}),
    Fault("w1_stride below cols", 1, {"w1_stride": too_short("w1_stride", "cols")}),
    Fault("w2_stride below hidden", 1, {"w2_stride": too_short("w2_stride", "hidden")}),
    Fault("y_stride below outs", 1, {"y_stride": too_short("y_stride", "outs")}),
    Fault(
        "too many columns", 2, {"cols": TOO_MANY, "x_stride": TOO_MANY_STRIDE, "w1_stride": TOO_MANY_STRIDE}
    ),
    Fault("w1 misaligned", 3, misalign=("w1",)),
    Fault("w2 misaligned", 3, misalign=("w2",)),
    Fault("scratch misaligned", 3, misalign=("scratch",)),
    Fault("w1_stride not a multiple of 16", 3, {"w1_stride": lambda d: d["w1_stride"] + 1}),
    Fault("w2_stride not a multiple of 16", 3, {"w2_stride": lambda d: d["w2_stride"] + 8}),
)


@jit
def _check(
    x_stride: np.int32,
    rows: np.int32,
    w1: S8Array,
    w1_stride: np.int32,
    w2: S8Array,
    w2_stride: np.int32,
    cols: np.int32,
    hidden: np.int32,
    outs: np.int32,
    group: np.int32,
    y_stride: np.int32,
    scratch: U8Array,
) -> int:
    if rows < 0 or cols < 1 or hidden < 1 or outs < 0 or x_stride < cols or w1_stride < cols:
        return BAD_ARGUMENT
    if w2_stride < hidden or y_stride < outs or group < 16 or group % 16 != 0 or hidden % group != 0:
        return BAD_ARGUMENT
    if cols > MAX_COLUMNS or hidden > MAX_COLUMNS:
        return TOO_MANY_COLUMNS
    if misaligned(scratch) or misaligned(w1) or misaligned(w2) or w1_stride & 15 != 0 or w2_stride & 15 != 0:
        return MISALIGNED
    return OK


@kernel(
    "mlp_grouped",
    Tensor("x", "float32", (extent("rows", "x_stride", "cols"),), values="moderate", fill=fill_rows),
    scalar("x_stride"),
    scalar("rows"),
    codes("w1", "hidden", "w1_stride", "cols", "padded"),
    scalar("w1_stride"),
    vector("sw1", "hidden", "(0,0.01]"),
    vector("b1", "hidden", "gelu"),
    codes("w2", "outs", "w2_stride", "hidden", "hidden"),
    scalar("w2_stride"),
    vector("sw2", "outs"),
    vector("b2", "outs"),
    scalar("cols"),
    Scalar("hidden", "int32", "hidden"),
    scalar("outs"),
    scalar("group"),
    Tensor("value", "float32", (1024,), values="table", fill=table_fill(lambda: table("gelu_value"))),
    Tensor("slope", "float32", (1024,), values="table", fill=table_fill(lambda: table("gelu_slope"))),
    floats("y", "rows", "y_stride", "outs", role="out"),
    scalar("y_stride"),
    scratch(lambda d: d["rows"] * (pad16(d["cols"]) + 5 * d["group"] + 16)),
    BAD,
    dims=_DIMS,
    derived=_DERIVED,
    returns="int32",
    source="numerics 10",
    extremes=(
        *far_apart("x_gap", "y_gap", rows=2, outs=2, group=16, groups=2),
        *far_apart("w2_gap", step=16, rows=2, outs=2, group=16, groups=2),
    ),
    faults=_FAULTS,
)
@jit
def mlp_grouped(
    x: F32Array,
    x_stride: np.int32,
    rows: np.int32,
    w1: S8Array,
    w1_stride: np.int32,
    sw1: F32Array,
    b1: F32Array,
    w2: S8Array,
    w2_stride: np.int32,
    sw2: F32Array,
    b2: F32Array,
    cols: np.int32,
    hidden: np.int32,
    outs: np.int32,
    group: np.int32,
    value: F32Array,
    slope: F32Array,
    y: F32Array,
    y_stride: np.int32,
    scratch: U8Array,
    bad: S32Array,
) -> int:
    """h = linear_w8a8(x, w1); y = b2 + sum over groups of linear(quantized gelu(h)) (section 10).

    x float32 [rows][x_stride], w1 int8 [hidden][w1_stride], w2 int8 [outs][w2_stride], y float32
    [rows][y_stride]. Returns 0, 1, 2, 3, or 4 with bad[0] = row: of x (y untouched), or of a group of the
    hidden rows (y then holds b2 and the groups before it).
    """
    status = _check(
        x_stride, rows, w1, w1_stride, w2, w2_stride, cols, hidden, outs, group, y_stride, scratch
    )
    if status != OK:
        return int(status)
    sx = np.zeros(rows, np.float32)
    status, q = quantize_padded(x, x_stride, rows, cols, sx, bad)
    if status != OK:
        return int(status)
    for r in range(rows):
        y[r * y_stride : r * y_stride + outs] = b2[:outs]
    h, hq, sh = (
        np.zeros(rows * group, np.float32),
        np.zeros(rows * group, np.int8),
        np.zeros(rows, np.float32),
    )
    stride = (cols + 15) & ~15
    for first in range(0, hidden, group):
        for r in range(rows):
            for i in range(group):
                acc = np.float32(dot(q, r * stride, w1, (first + i) * w1_stride, cols))
                h[r * group + i] = gelu(acc * (sx[r] * sw1[first + i]) + b1[first + i], value, slope)
        status = quantize_row_s8(h, group, hq, group, sh, rows, group, bad)
        if status != OK:
            return int(status)
        for r in range(rows):
            for o in range(outs):
                acc = np.float32(dot(hq, r * group, w2, o * w2_stride + first, group))
                y[r * y_stride + o] = y[r * y_stride + o] + acc * (sh[r] * sw2[o])
    return OK
