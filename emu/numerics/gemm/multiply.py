"""The matrix product of the chosen variant, and what goes around it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from emu.numerics.gemm.avx2 import multiply_avx2
from emu.numerics.gemm.plain import multiply_plain
from emu.numerics.gemm.variant import chosen
from emu.numerics.gemm.vnni import multiply_vnni

VARIANTS: Final[dict[str, Callable[..., None]]] = {
    "vnni": multiply_vnni,
    "avx2": multiply_avx2,
    "plain": multiply_plain,
}

multiply: Final = VARIANTS[chosen()]
"""acc[r][o] = init[r] + sum of x[r][c] * w[o][c], wrapping int32, for compiled code.

Parameters: x int8 flat, x_first, x_stride, rows; w packed uint8 flat (:mod:`emu.numerics.gemm.packing`, so
each weight counts plus 128), w_first, w_stride (bytes from one block of 16 outputs to the next), blocks,
steps (groups of four columns); init int32, init_first; acc int32 flat, acc_first, acc_stride. Positions and
strides count elements. All 16 outputs of every block are written.
"""
