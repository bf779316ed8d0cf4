"""int4 linear layers over one activation row, and rows of int4 tables."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from emu.models.blocks.linear import GOOD, Quantized, quantize_row
from emu.numerics.constants import ZERO
from emu.numerics.gemm.multiply import multiply
from emu.numerics.gemm.packing import BLOCK_STEP, DEPTH, LANES, OFFSET, pack_weights
from emu.numerics.half import widen_f16
from emu.numerics.jit import jit
from emu.numerics.types import F32Array, S8Array, S32Array, U8Array, U16Array


class Int4Linear(NamedTuple):
    """Packed codes; scales float32 [groups][blocks * 16] (widened, transposed)."""

    w: U8Array
    stride: int
    blocks: int
    steps: int
    group: int
    scale: F32Array
    outs: int
    cols: int


class Int4Table(NamedTuple):
    """Rows as they stand in the file: packed codes [rows][row_bytes], binary16 scales [rows][groups]."""

    w: U8Array
    scale: U16Array
    group: int
    cols: int


def int4_linear(codes: S8Array, scale: U16Array, group: int) -> Int4Linear:
    """A layer from codes int8 [outs][cols] and binary16 patterns [outs][groups]."""
    packed = pack_weights(codes)
    blocks, steps = packed.shape[:2]
    wide = np.zeros((scale.shape[1], blocks * LANES), np.float32)
    wide[:, : len(codes)] = scale.view(np.float16).T.astype(np.float32)
    return Int4Linear(packed.reshape(-1), steps * 64, blocks, steps, group, wide, *codes.shape)


@jit
def linear_int4(
    x: F32Array, layer: Int4Linear, xq: Quantized, acc: S32Array, sums: F32Array, y: F32Array
) -> int:
    """y [outs] = linear_int4 of x [cols]; xq: one row; acc, sums: room for blocks * 16."""
    row = xq.q[0]
    row[layer.cols :] = 0
    sx, _, finite = quantize_row(x[: layer.cols], row[: layer.cols])
    if not finite:
        return 0
    width = layer.blocks * LANES
    sums[:width] = ZERO
    for g in range(layer.scale.shape[0]):
        first = g * layer.group
        steps = min(layer.group // DEPTH, layer.steps - first // DEPTH)
        total = np.int32(0)
        for c in range(first, first + steps * DEPTH):
            total = np.int32(total + np.int32(row[c]))
        xq.start[0] = np.int32(-OFFSET * total)
        multiply(
            row, first, len(row), 1, layer.w, first // DEPTH * BLOCK_STEP, layer.stride, layer.blocks, steps,
            xq.start, 0, acc, 0, width,
        )  # fmt: skip
        scale = layer.scale[g]
        for o in range(width):
            sums[o] += np.float32(acc[o]) * scale[o]
    for o in range(layer.outs):
        y[o] = sums[o] * sx
    return GOOD


@jit
def table_row(table: Int4Table, row: int, y: F32Array) -> None:
    """y [cols] = (float)code * (float)scale of one row of a table."""
    for c in range(table.cols):
        nibble = np.int32((table.w[row, c >> 1] >> ((c & 1) << 2)) & 15)
        y[c] = np.float32(np.int32((nibble ^ 8) - 8)) * widen_f16(table.scale[row, c // table.group])
