"""Streams of random words and normals. A state array has one element and is left at the last state."""

from __future__ import annotations

import numpy as np

from emu.kernels.shapes import N_SCALAR, N
from emu.kernels.spec import Tensor, kernel
from emu.numerics import random
from emu.numerics.jit import jit
from emu.numerics.types import F32Array, U32Array

_STATE = Tensor("state", "uint32", (1,), role="inout", values="bits")
_WORDS = Tensor("y", "uint32", ("n",), role="out")


@kernel(
    "fmix32_array",
    Tensor("x", "uint32", ("n",), values="bits"),
    _WORDS,
    N_SCALAR,
    dims=(N,),
    elementwise=("x", "y"),
    source="numerics 6",
)
@jit
def fmix32_array(x: U32Array, y: U32Array, n: np.int32) -> None:
    """Mix seeds x [n] to y [n]; 0 is not replaced here (section 6)."""
    for i in range(n):
        y[i] = random.fmix32(x[i])


@kernel("xorshift32_array", _STATE, _WORDS, N_SCALAR, dims=(N,), source="numerics 6")
@jit
def xorshift32_array(state: U32Array, y: U32Array, n: np.int32) -> None:
    """Next n outputs to y [n]; a zero state is replaced first, also when n is 0 (section 6)."""
    s = random.live_state(state[0])
    for i in range(n):
        s = random.xorshift32(s)
        y[i] = s
    state[0] = s


@kernel(
    "normal_array",
    _STATE,
    Tensor("y", "float32", ("n",), role="out"),
    N_SCALAR,
    dims=(N,),
    source="numerics 6",
)
@jit
def normal_array(state: U32Array, y: F32Array, n: np.int32) -> None:
    """Next n normals to y [n], pairs in sequence; an odd n drops the last z1 (section 6)."""
    s = random.live_state(state[0])
    for i in range(0, n, 2):
        s, z0, z1 = random.normal_pair(s)
        y[i] = z0
        if i + 1 < n:
            y[i + 1] = z1
    state[0] = s
