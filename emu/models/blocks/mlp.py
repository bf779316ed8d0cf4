"""mlp_grouped: the hidden vector lives one group at a time."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from emu.models.blocks.linear import GOOD, Linear, Quantized, quantize_rows, quantized
from emu.numerics.constants import MINUS_SIX, SIX, ZERO, f32
from emu.numerics.gemm.multiply import multiply
from emu.numerics.gemm.packing import BLOCK_STEP, DEPTH, LANES
from emu.numerics.jit import jit
from emu.numerics.types import F32Array, S32Array

_STEPS_PER_UNIT: Final = f32(0x42AA8000)  # 85.25


class MlpRoom(NamedTuple):
    """Working memory for ``rows`` rows: hidden floats of one group, and their quantized rows."""

    hidden: F32Array
    hq: Quantized


def mlp_room(rows: int, group: int) -> MlpRoom:
    """Room for ``rows`` rows and groups of ``group`` columns."""
    return MlpRoom(np.zeros((rows, group), np.float32), quantized(rows, group))


@jit
def gelu_row(x: F32Array, value: F32Array, slope: F32Array) -> None:
    """GELU in place, without branches, so that the loop becomes vector code."""
    for i in range(len(x)):
        h = x[i]
        inside = h if h > MINUS_SIX else MINUS_SIX
        inside = inside if inside < SIX else SIX
        p = (inside + SIX) * _STEPS_PER_UNIT
        k = min(np.int32(p), np.int32(1022))
        y = value[k] + slope[k] * (p - np.float32(k))
        y = y if h > MINUS_SIX else ZERO
        y = h if h >= SIX else y
        x[i] = y if h == h else h


@jit
def mlp(
    xq: Quantized,
    rows: int,
    fc1: Linear,
    fc2: Linear,
    gelu: tuple[F32Array, F32Array],
    room: MlpRoom,
    acc: S32Array,
    y: F32Array,
) -> int:
    """y [rows][outs] of quantized rows; ``gelu``: values and slopes; acc: int32 room for rows * outs."""
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
    gelu: tuple[F32Array, F32Array],
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
        sx, row = xq.scale[r], room.hidden[r]
        for o in range(group):
            row[o] = np.float32(acc[r * group + o]) * (sx * sw[o]) + b[o]
        gelu_row(row, gelu[0], gelu[1])
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
