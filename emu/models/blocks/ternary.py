"""BitLinear: one activation scale over the whole input, one weight scale, no bias."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from emu.models.blocks.linear import GOOD, Quantized
from emu.numerics.constants import EPS_TERNARY, S8_MAX
from emu.numerics.gemm.multiply import multiply
from emu.numerics.gemm.packing import LANES, OFFSET, pack_weights
from emu.numerics.jit import jit
from emu.numerics.quantize import NOT_FINITE_BITS, largest_magnitude_bits, magnitude_of
from emu.numerics.rounding import rne
from emu.numerics.types import F32Array, S8Array, S32Array, U8Array


class BitLinear(NamedTuple):
    """Packed weights and the scale of the matrix."""

    w: U8Array
    stride: int
    blocks: int
    steps: int
    scale: np.float32
    outs: int
    cols: int


def bitlinear_of(weights: S8Array, scale: np.float32) -> BitLinear:
    """A layer from weights -1, 0, +1 as int8 [outs][cols]; outs and cols multiples of 16."""
    packed = pack_weights(weights)
    blocks, steps = packed.shape[:2]
    return BitLinear(packed.reshape(-1), steps * 64, blocks, steps, np.float32(scale), *weights.shape)


@jit
def bitlinear(x: F32Array, layer: BitLinear, xq: Quantized, acc: S32Array, y: F32Array) -> int:
    """y [rows][outs] of x [rows][cols], contiguous; 0 instead of -1 when an element is not finite."""
    rows = x.shape[0]
    largest = largest_magnitude_bits(x.reshape(-1))
    if largest >= NOT_FINITE_BITS:
        return 0
    a_scale = S8_MAX / max(magnitude_of(largest), EPS_TERNARY)
    for r in range(rows):
        total = np.int32(0)
        for c in range(layer.cols):
            v = rne(x[r, c] * a_scale)
            xq.q[r, c] = np.int8(v)
            total = np.int32(total + v)
        xq.start[r] = np.int32(-OFFSET * total)
    width = layer.blocks * LANES
    multiply(
        xq.q.reshape(-1), 0, xq.q.shape[1], rows, layer.w, 0, layer.stride, layer.blocks, layer.steps,
        xq.start, 0, acc, 0, width,
    )  # fmt: skip
    factor = np.float32(layer.scale) / a_scale
    for r in range(rows):
        for o in range(layer.outs):
            y[r, o] = np.float32(acc[r * width + o]) * factor
    return GOOD
