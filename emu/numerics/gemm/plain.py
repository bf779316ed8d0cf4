"""The matrix product in plain loops: for processors without the instructions, and to judge the others."""

from __future__ import annotations

import numpy as np

from emu.numerics.gemm.packing import BLOCK_STEP, DEPTH, LANES
from emu.numerics.jit import jit
from emu.numerics.types import S8Array, S32Array, U8Array


@jit
def multiply_plain(
    x: S8Array,
    x_first: int,
    x_stride: int,
    rows: int,
    w: U8Array,
    w_first: int,
    w_stride: int,
    blocks: int,
    steps: int,
    init: S32Array,
    init_first: int,
    acc: S32Array,
    acc_first: int,
    acc_stride: int,
) -> None:
    """See :func:`emu.numerics.gemm.multiply.multiply`."""
    for v in range(blocks):
        for r in range(rows):
            place = acc_first + r * acc_stride + LANES * v
            first = x_first + r * x_stride
            sums = acc[place : place + LANES]
            sums[:] = init[init_first + r]
            for k in range(steps):
                start = w_first + v * w_stride + k * BLOCK_STEP
                _add(sums, w[start : start + BLOCK_STEP], x[first + k * DEPTH : first + (k + 1) * DEPTH])


@jit
def _add(sums: S32Array, w: U8Array, x: S8Array) -> None:
    """Four columns of 16 outputs."""
    a, b, c, d = np.int32(x[0]), np.int32(x[1]), np.int32(x[2]), np.int32(x[3])
    for n in range(LANES):
        # each product by itself in 32 bits: numba would widen a whole sum of products to 64
        even = np.int32(np.int32(np.int32(w[4 * n]) * a) + np.int32(np.int32(w[4 * n + 2]) * c))
        odd = np.int32(np.int32(np.int32(w[4 * n + 1]) * b) + np.int32(np.int32(w[4 * n + 3]) * d))
        sums[n] = np.int32(sums[n] + np.int32(even + odd))
