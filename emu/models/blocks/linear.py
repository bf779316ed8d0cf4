"""int8 linear layers: weights packed once, rows quantized, products on the host's vectors."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from emu.numerics.gemm.multiply import multiply
from emu.numerics.gemm.packing import LANES, OFFSET, pack_weights
from emu.numerics.jit import jit
from emu.numerics.lanes import quantize_line
from emu.numerics.types import AnyArray, F32Array, S8Array, S32Array, U8Array

GOOD: Final = -1
"""What a block returns when every row was finite."""


class Linear(NamedTuple):
    """A linear layer or convolution: packed weights, scale and bias [outs]."""

    w: U8Array
    stride: int
    blocks: int
    steps: int
    scale: F32Array
    bias: F32Array
    outs: int
    cols: int


class Quantized(NamedTuple):
    """Rows of int8 with their scale, and -128 times their sum, from which a product starts."""

    q: S8Array
    scale: F32Array
    start: S32Array


def linear_of(weights: AnyArray, scale: F32Array, bias: F32Array) -> Linear:
    """A layer from int8 weights [outs][cols], scale and bias [outs]."""
    packed = pack_weights(weights)
    blocks, steps = packed.shape[:2]
    flat = packed.reshape(-1)
    outs, cols = weights.shape
    return Linear(flat, steps * 64, blocks, steps, _own(scale), _own(bias), outs, cols)


def _own(values: F32Array) -> F32Array:
    return np.array(values, np.float32)


def quantized(rows: int, cols: int) -> Quantized:
    """Room for ``rows`` rows; columns are rounded up to a multiple of 16 and padded with zeros."""
    padded = -(-cols // LANES) * LANES
    return Quantized(np.zeros((rows, padded), np.int8), np.zeros(rows, np.float32), np.zeros(rows, np.int32))


@jit
def quantize_row(x: F32Array, q: S8Array) -> tuple[np.float32, np.int32, bool]:
    """quantize_row_s8 of one row [n] to q [n]: (scale, sum of q, finite)."""
    return quantize_line(x, 0, len(x), q, 0)  # type: ignore[no-any-return]


@jit
def quantize_rows(x: F32Array, rows: int, cols: int, out: Quantized) -> int:
    """The first ``cols`` columns of x [rows][..] by quantize_row_s8."""
    for r in range(rows):
        scale, total, finite = quantize_line(x, r * x.shape[1], cols, out.q, r * out.q.shape[1])
        if not finite:
            return r
        out.scale[r] = scale
        out.start[r] = np.int32(-OFFSET * total)
    return GOOD


@jit
def apply_linear(xq: Quantized, rows: int, layer: Linear, acc: S32Array, y: F32Array) -> None:
    """y [rows][outs] = linear_q8 of quantized rows; acc: int32 room for rows * blocks * 16."""
    width = layer.blocks * LANES
    multiply(
        xq.q.reshape(-1),
        0,
        xq.q.shape[1],
        rows,
        layer.w,
        0,
        layer.stride,
        layer.blocks,
        layer.steps,
        xq.start,
        0,
        acc,
        0,
        width,
    )
    for r in range(rows):
        sx = xq.scale[r]
        for o in range(layer.outs):
            y[r, o] = np.float32(acc[r * width + o]) * (sx * layer.scale[o]) + layer.bias[o]


@jit
def linear(x: F32Array, rows: int, layer: Linear, xq: Quantized, acc: S32Array, y: F32Array) -> int:
    """linear_w8a8 of x [rows][cols] to y [rows][outs]."""
    bad = quantize_rows(x, rows, layer.cols, xq)
    if bad == GOOD:
        apply_linear(xq, rows, layer, acc, y)
    return bad
