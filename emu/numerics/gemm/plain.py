"""The matrix product in plain loops: for processors without the instructions, and to judge the others."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import carray

from emu.numerics.gemm.packing import BLOCK_STEP, DEPTH, LANES
from emu.numerics.jit import jit
from emu.numerics.types import S8Array, S32Array, U8Array


def multiply_plain(
    x: Any,
    x_stride: Any,
    rows: Any,
    w: Any,
    w_stride: Any,
    blocks: Any,
    steps: Any,
    init: Any,
    acc: Any,
    acc_stride: Any,
) -> None:
    """See :mod:`emu.numerics.gemm.native`; the pointers are numba's own."""
    if rows <= 0 or blocks <= 0:
        return
    xs = carray(x, ((rows - 1) * x_stride + steps * DEPTH,))
    ws = carray(w, ((blocks - 1) * w_stride + steps * BLOCK_STEP,))
    starts = carray(init, (rows,))
    out = carray(acc, ((rows - 1) * acc_stride + blocks * LANES,))
    for v in range(blocks):
        for r in range(rows):
            place = r * acc_stride + LANES * v
            sums = out[place : place + LANES]
            sums[:] = starts[r]
            for k in range(steps):
                start, first = v * w_stride + k * BLOCK_STEP, r * x_stride + k * DEPTH
                _add(sums, ws[start : start + BLOCK_STEP], xs[first : first + DEPTH])


@jit
def _add(sums: S32Array, w: U8Array, x: S8Array) -> None:
    """Four columns of 16 outputs."""
    a, b, c, d = np.int32(x[0]), np.int32(x[1]), np.int32(x[2]), np.int32(x[3])
    for n in range(LANES):
        # each product by itself in 32 bits: numba would widen a whole sum of products to 64
        even = np.int32(np.int32(np.int32(w[4 * n]) * a) + np.int32(np.int32(w[4 * n + 2]) * c))
        odd = np.int32(np.int32(np.int32(w[4 * n + 1]) * b) + np.int32(np.int32(w[4 * n + 3]) * d))
        sums[n] = np.int32(sums[n] + np.int32(even + odd))
