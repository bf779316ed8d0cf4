"""Sine and cosine of arrays of angles in turns."""

from __future__ import annotations

from typing import Any

import numpy as np

from emu.kernels.shapes import N_SCALAR, N
from emu.kernels.spec import Dim, Dims, Scalar, Tensor, kernel
from emu.numerics import trigonometry
from emu.numerics.jit import jit
from emu.numerics.types import F32Array

_SIN = Tensor("sin_u", "float32", ("n",), role="out")
_COS = Tensor("cos_u", "float32", ("n",), role="out")

_POSITION_LIMIT = 0x4B000000
"""2^23: with a frequency of at most 1, every p below it keeps p * f below it too."""


@kernel(
    "sincos_turn_array",
    Tensor("u", "float32", ("n",), values="unit"),
    _SIN,
    _COS,
    N_SCALAR,
    dims=(N,),
    elementwise=("u", "sin_u"),
    domain=(0x00000000, 0x3F7FFFFF),
    source="numerics 5",
)
@jit
def sincos_turn_array(u: F32Array, sin_u: F32Array, cos_u: F32Array, n: np.int32) -> None:
    """Sine and cosine of 2*pi*u for float32 u [n] in [0, 1) (section 5)."""
    for i in range(n):
        sin_u[i], cos_u[i] = trigonometry.sincos_turn(u[i])


def _fill_positions(dims: Dims, rng: np.random.Generator, array: np.ndarray[Any, Any]) -> None:
    """Fold magnitudes to [0, 2^23) and make half of them whole numbers, as positions are."""
    bits = array.view(np.uint32)
    bits &= 0x7FFFFFFF
    bits %= _POSITION_LIMIT
    if dims["whole"]:
        array[...] = np.floor(array)


@kernel(
    "turns_array",
    Tensor("p", "float32", ("n",), values="moderate", fill=_fill_positions),
    Scalar("f", "float32", values="(0,1]"),
    _SIN,
    _COS,
    N_SCALAR,
    dims=(N, Dim("whole", 0, 1)),
    source="numerics 5",
)
@jit
def turns_array(p: F32Array, f: np.float32, sin_u: F32Array, cos_u: F32Array, n: np.int32) -> None:
    """Sine and cosine of p*f turns for float32 p [n], 0 <= p*f < 2^23 (section 5)."""
    frequency = np.float32(f)
    for i in range(n):
        sin_u[i], cos_u[i] = trigonometry.sincos_turn(trigonometry.turns(p[i], frequency))
