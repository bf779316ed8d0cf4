"""3x3 convolutions over int8 pictures: a matrix product of patches that overlap in memory.

A row of the picture is laid out as columns of three pixels; the patch of a pixel is its column and both
neighbours', so each pixel is copied three times instead of nine.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from emu.models.blocks.linear import Linear, linear_of
from emu.numerics.constants import ONE
from emu.numerics.gemm.multiply import multiply
from emu.numerics.gemm.packing import DEPTH, LANES, OFFSET
from emu.numerics.jit import jit
from emu.numerics.packed import padded
from emu.numerics.quantize import quantize_clamped
from emu.numerics.types import AnyArray, F32Array, S8Array, S32Array


class Conv3x3(NamedTuple):
    """A convolution: its weights as a linear over 9c columns in the order kx, ky, c; and c."""

    layer: Linear
    channels: int


class ConvRoom(NamedTuple):
    """Working memory for a row of the picture: columns of three pixels, starts of the sums, sums, floats."""

    columns: S8Array
    totals: S32Array
    start: S32Array
    acc: S32Array
    y: F32Array


def conv_of(weights: AnyArray, scale: F32Array, bias: F32Array) -> Conv3x3:
    """A convolution from int8 weights [outs][9c] in the order ky, kx, c."""
    outs, columns = weights.shape
    turned = np.asarray(weights).reshape(outs, 3, 3, -1).transpose(0, 2, 1, 3).reshape(outs, columns)
    return Conv3x3(linear_of(turned, scale, bias), columns // 9)


def conv_room(width: int, channels: int, outs: int) -> ConvRoom:
    """Room for pictures up to ``width`` pixels wide, up to ``channels`` channels and ``outs`` outputs."""
    lanes = padded(outs, LANES)
    return ConvRoom(
        np.zeros((width + 2) * 3 * channels + DEPTH, np.int8),
        np.zeros(width + 2, np.int32),
        np.zeros(width, np.int32),
        np.zeros(width * lanes, np.int32),
        np.zeros((width, outs), np.float32),
    )


@jit
def _columns(x: S8Array, channels: int, up: int, relu: bool, row: int, room: ConvRoom) -> None:
    """Pixels above one another: [width + 2][3][channels]; the patch of a pixel is three of them in turn."""
    height, width = x.shape[0] << up, x.shape[1] << up
    out = room.columns[: (width + 2) * 3 * channels].reshape(width + 2, 3, channels)
    low = np.int8(0) if relu else np.int8(-128)
    for px in range(width + 2):
        sx = (px - 1) >> up
        total = np.int32(0)
        for ky in range(3):
            sy = (row + ky - 1) >> up
            if 0 < px <= width and 0 <= row + ky - 1 < height:
                for c in range(channels):
                    value = max(x[sy, sx, c], low)
                    out[px, ky, c] = value
                    total = np.int32(total + np.int32(value))
            else:
                for c in range(channels):
                    out[px, ky, c] = 0
        room.totals[px] = total


@jit
def _starts(width: int, layer: Linear, room: ConvRoom) -> None:
    """-128 times the sum of each patch and of what a product reads behind it, beside weights of 0."""
    step = layer.cols // 3
    for px in range(width):
        total = np.int32(room.totals[px] + room.totals[px + 1] + room.totals[px + 2])
        for k in range(px * step + layer.cols, px * step + layer.steps * DEPTH):
            total = np.int32(total + np.int32(room.columns[k]))
        room.start[px] = np.int32(-OFFSET * total)


@jit
def conv_row(
    x: S8Array, conv: Conv3x3, up: int, relu: bool, s_in: np.float32, row: int, room: ConvRoom
) -> None:
    """One picture row as float32 in ``room.y`` [width][outs], from x int8 [height][width][channels]."""
    layer = conv.layer
    width, lanes = x.shape[1] << up, layer.blocks * LANES
    _columns(x, conv.channels, up, relu, row, room)
    _starts(width, layer, room)
    multiply(
        room.columns, 0, 3 * conv.channels, width, layer.w, 0, layer.stride, layer.blocks, layer.steps,
        room.start, 0, room.acc, 0, lanes,
    )  # fmt: skip
    for px in range(width):
        for o in range(layer.outs):
            acc = np.float32(room.acc[px * lanes + o])
            room.y[px, o] = acc * (s_in * layer.scale[o]) + layer.bias[o]


@jit
def conv_s8(
    x: S8Array,
    conv: Conv3x3,
    up: int,
    relu: bool,
    s_in: np.float32,
    s_out: np.float32,
    other: S8Array,
    s_other: np.float32,
    rows: tuple[int, int],
    room: ConvRoom,
    y: S8Array,
) -> None:
    """y int8 [H][W][outs] = quantize_static_s8(conv + other * s_other); no ``other`` when it has no rows.

    ``rows``: the first row to compute and the one behind the last.
    """
    inverse = ONE / s_out
    for row in range(rows[0], rows[1]):
        conv_row(x, conv, up, relu, s_in, row, room)
        if len(other) > 0:
            for px in range(y.shape[1]):
                for o in range(y.shape[2]):
                    room.y[px, o] += np.float32(other[row, px, o]) * s_other
        for px in range(y.shape[1]):
            for o in range(y.shape[2]):
                y[row, px, o] = quantize_clamped(room.y[px, o], inverse)


@jit
def conv_f32(
    x: S8Array,
    conv: Conv3x3,
    up: int,
    relu: bool,
    s_in: np.float32,
    rows: tuple[int, int],
    room: ConvRoom,
    y: F32Array,
) -> None:
    """y float32 [H][W][outs] = conv, in ``rows``."""
    for row in range(rows[0], rows[1]):
        conv_row(x, conv, up, relu, s_in, row, room)
        for px in range(y.shape[1]):
            for o in range(y.shape[2]):
                y[row, px, o] = room.y[px, o]
