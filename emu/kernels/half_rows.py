"""binary16 widening, and rows of int4 tables as float32."""

from __future__ import annotations

import numpy as np

from emu.kernels.layer_cases import scalar
from emu.kernels.shapes import N_SCALAR, N
from emu.kernels.spec import Dim, Tensor, kernel
from emu.numerics.half import widen_f16
from emu.numerics.int4 import int4_row_bytes
from emu.numerics.jit import jit
from emu.numerics.types import F32Array, U8Array, U16Array


@kernel(
    "half_array",
    Tensor("x", "uint16", ("n",), values="bits"),
    Tensor("y", "float32", ("n",), role="out"),
    N_SCALAR,
    dims=(N,),
    elementwise=("x", "y"),
    domain=(0, 0xFFFF),
    source="numerics 8",
)
@jit
def half_array(x: U16Array, y: F32Array, n: np.int32) -> None:
    """binary16 patterns x [n] as float32 y [n], exact (section 8)."""
    for i in range(n):
        y[i] = widen_f16(x[i])


@kernel(
    "int4_row",
    Tensor("w", "uint8", (lambda d: int4_row_bytes(d["cols"]),), values="codes"),
    Tensor("scale", "uint16", ("groups",), values="bits"),
    scalar("cols"),
    scalar("group"),
    Tensor("y", "float32", ("cols",), role="out"),
    dims=(
        Dim("cols", 0, 400, special=(1, 2, 15, 16, 17, 31, 32, 33, 128, 384)),
        Dim("group", 1, 200, special=(16, 32, 128)),
    ),
    derived={"groups": lambda d: -(-d["cols"] // d["group"])},
    source="numerics 8",
)
@jit
def int4_row(w: U8Array, scale: U16Array, cols: np.int32, group: np.int32, y: F32Array) -> None:
    """y[c] = (float)code * (float)scale[c / group] of one packed row; the code 8 is -8 (section 8)."""
    for c in range(cols):
        nibble = np.int32((w[c >> 1] >> ((c & 1) << 2)) & 15)
        code = np.int32((nibble ^ 8) - 8)
        y[c] = np.float32(code) * widen_f16(scale[c // group])
