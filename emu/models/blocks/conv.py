"""3x3 convolutions over int8 pictures: rows of patches, then a matrix product."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from emu.models.blocks.linear import Linear
from emu.numerics.constants import ONE
from emu.numerics.gemm.multiply import multiply
from emu.numerics.gemm.packing import LANES, OFFSET
from emu.numerics.jit import jit
from emu.numerics.quantize import quantize_clamped
from emu.numerics.types import F32Array, S8Array, S32Array


class Conv3x3(NamedTuple):
    """A convolution: its weights as a linear over 9c columns, and c."""

    layer: Linear
    channels: int


class ConvRoom(NamedTuple):
    """Working memory for one row of the picture: patches, starts of the sums, sums, floats."""

    patches: S8Array
    start: S32Array
    acc: S32Array
    y: F32Array


def conv_of(layer: Linear, channels: int) -> Conv3x3:
    """A convolution of ``channels`` input channels."""
    return Conv3x3(layer, channels)


def conv_room(width: int, columns: int, outs: int) -> ConvRoom:
    """Room for pictures up to ``width`` pixels wide, 9c up to ``columns``, up to ``outs`` outputs."""
    blocks = -(-outs // LANES)
    return ConvRoom(
        np.zeros(width * columns, np.int8),
        np.zeros(width, np.int32),
        np.zeros(width * blocks * LANES, np.int32),
        np.zeros((width, outs), np.float32),
    )


@jit
def _patches(x: S8Array, channels: int, up: int, relu: bool, row: int, step: int, room: ConvRoom) -> None:
    """The patches of one picture row: ``patches`` [width][step], step = 9c rounded up to a multiple of 4."""
    height, width = x.shape[0] << up, x.shape[1] << up
    room.patches[: width * step] = 0
    for ky in range(3):
        py = row + ky - 1
        if py < 0 or py >= height:
            continue
        line = x[py >> up]
        for px in range(width):
            for kx in range(3):
                sx = px + kx - 1
                if sx < 0 or sx >= width:
                    continue
                place = px * step + (ky * 3 + kx) * channels
                out = room.patches[place : place + channels]
                source = line[sx >> up]
                for c in range(channels):
                    out[c] = max(source[c], np.int8(0)) if relu else source[c]
    for px in range(width):
        total = np.int32(0)
        for k in range(step):
            total = np.int32(total + np.int32(room.patches[px * step + k]))
        room.start[px] = np.int32(-OFFSET * total)


@jit
def conv_row(
    x: S8Array, conv: Conv3x3, up: int, relu: bool, s_in: np.float32, row: int, room: ConvRoom
) -> None:
    """One picture row as float32 in ``room.y`` [width][outs], from x int8 [height][width][channels]."""
    layer = conv.layer
    step = layer.steps * 4
    width, lanes = x.shape[1] << up, layer.blocks * LANES
    _patches(x, conv.channels, up, relu, row, step, room)
    multiply(
        room.patches, 0, step, width, layer.w, 0, layer.stride, layer.blocks, layer.steps, room.start, 0,
        room.acc, 0, lanes,
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
    room: ConvRoom,
    y: S8Array,
) -> None:
    """y int8 [H][W][outs] = quantize_static_s8(conv + other * s_other); no ``other`` when it has no rows."""
    inverse = ONE / s_out
    for row in range(y.shape[0]):
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
    x: S8Array, conv: Conv3x3, up: int, relu: bool, s_in: np.float32, room: ConvRoom, y: F32Array
) -> None:
    """y float32 [H][W][outs] = conv."""
    for row in range(y.shape[0]):
        conv_row(x, conv, up, relu, s_in, row, room)
        for px in range(y.shape[1]):
            y[row, px] = room.y[px, : y.shape[2]]
