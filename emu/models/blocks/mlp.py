"""mlp_grouped: the hidden vector lives one group at a time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from emu.models.blocks.linear import GOOD, Linear, Quantized, quantize_rows, quantized
from emu.numerics.gemm.multiply import multiply
from emu.numerics.gemm.packing import BLOCK_STEP, DEPTH, LANES
from emu.numerics.jit import jit
from emu.numerics.lanes import gelu_line
from emu.numerics.types import F32Array, S32Array


class MlpRoom(NamedTuple):
    """Working memory for ``rows`` rows: hidden floats of one group, and their quantized rows."""

    hidden: F32Array
    hq: Quantized


def mlp_room(rows: int, group: int) -> MlpRoom:
    """Room for ``rows`` rows and groups of ``group`` columns."""
    return MlpRoom(np.zeros((rows, group), np.float32), quantized(rows, group))


def gelu_pairs(value: F32Array, slope: F32Array) -> F32Array:
    """The tables [1024] of :func:`emu.numerics.tables.gelu_tables` side by side: float32 [1024][2]."""
    return np.ascontiguousarray(np.stack((value, slope), axis=1), np.float32)


@jit
def gelu_row(x: F32Array, pairs: F32Array) -> None:
    """GELU of x [n] in place, with the tables of :func:`gelu_pairs`."""
    gelu_line(x, 0, len(x), pairs)


@jit
def mlp(
    xq: Quantized,
    rows: int,
    fc1: Linear,
    fc2: Linear,
    gelu: F32Array,
    room: MlpRoom,
    acc: S32Array,
    y: F32Array,
) -> int:
    """y [rows][outs] of quantized rows; ``gelu``: :func:`gelu_pairs`; acc: int32 room for rows * outs."""
    for r in range(rows):
        y[r, : fc2.outs] = fc2.bias
    group = room.hidden.shape[1]
    for g in range(fc1.outs // group):
        bad = _hidden(xq, rows, fc1, g, gelu, room, acc)
        if bad != GOOD:
            return bad
        _add_group(rows, fc2, g, room, acc, y)
    return GOOD


@jit
def _hidden(
    xq: Quantized,
    rows: int,
    fc1: Linear,
    g: int,
    gelu: F32Array,
    room: MlpRoom,
    acc: S32Array,
) -> int:
    group = room.hidden.shape[1]
    blocks = group // LANES
    multiply(
        xq.q.reshape(-1), 0, xq.q.shape[1], rows, fc1.w, g * blocks * fc1.stride, fc1.stride, blocks,
        fc1.steps, xq.start, 0, acc, 0, group,
    )  # fmt: skip
    sw, b = fc1.scale[g * group : (g + 1) * group], fc1.bias[g * group : (g + 1) * group]
    for r in range(rows):
        sx = xq.scale[r]
        for o in range(group):
            room.hidden[r, o] = np.float32(acc[r * group + o]) * (sx * sw[o]) + b[o]
    gelu_line(room.hidden, 0, rows * group, gelu)
    return quantize_rows(room.hidden, rows, group, room.hq)


@jit
def _add_group(rows: int, fc2: Linear, g: int, room: MlpRoom, acc: S32Array, y: F32Array) -> None:
    steps = room.hidden.shape[1] // DEPTH
    width = fc2.blocks * LANES
    hq = room.hq
    multiply(
        hq.q.reshape(-1), 0, hq.q.shape[1], rows, fc2.w, g * steps * BLOCK_STEP, fc2.stride, fc2.blocks,
        steps, hq.start, 0, acc, 0, width,
    )  # fmt: skip
    for r in range(rows):
        sh = hq.scale[r]
        for o in range(fc2.outs):
            y[r, o] += np.float32(acc[r * width + o]) * (sh * fc2.scale[o])
