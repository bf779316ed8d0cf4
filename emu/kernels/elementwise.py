"""y[i] = f(x[i]): rounding, exp, ln, SiLU, division and square root. No alignment rule, no status."""

from __future__ import annotations

import numpy as np

from emu.kernels.shapes import N_SCALAR, N
from emu.kernels.spec import Tensor, kernel
from emu.numerics import activations, exponential, logarithm, rounding
from emu.numerics.jit import jit
from emu.numerics.types import F32Array, S32Array

_LN_FIRST, _LN_LAST = 0x00800000, 0x3F800000


def _floats(name: str, values: str = "any") -> Tensor:
    return Tensor(name, "float32", ("n",), values=values)


_Y = Tensor("y", "float32", ("n",), role="out")


@kernel(
    "rne_array",
    _floats("x", "finite"),
    Tensor("y", "int32", ("n",), role="out"),
    N_SCALAR,
    dims=(N,),
    elementwise=("x", "y"),
    source="numerics 2",
)
@jit
def rne_array(x: F32Array, y: S32Array, n: np.int32) -> None:
    """Round float32 x [n] to int32 y [n], ties to even; wrapping formula beyond 2^22 (section 2)."""
    for i in range(n):
        y[i] = rounding.rne(x[i])


@kernel(
    "exp_array",
    _floats("x"),
    _Y,
    N_SCALAR,
    dims=(N,),
    elementwise=("x", "y"),
    source="numerics 3",
)
@jit
def exp_array(x: F32Array, y: F32Array, n: np.int32) -> None:
    """e to the power x, float32 [n] (section 3)."""
    for i in range(n):
        y[i] = exponential.exp_f32(x[i])


@kernel(
    "ln_array",
    _floats("x", "ln_domain"),
    _Y,
    N_SCALAR,
    dims=(N,),
    elementwise=("x", "y"),
    domain=(_LN_FIRST, _LN_LAST),
    source="numerics 4",
)
@jit
def ln_array(x: F32Array, y: F32Array, n: np.int32) -> None:
    """Natural logarithm of normal x in (0, 1], float32 [n] (section 4)."""
    for i in range(n):
        y[i] = logarithm.ln_f32(x[i])


@kernel(
    "silu_array",
    _floats("x"),
    _Y,
    N_SCALAR,
    dims=(N,),
    elementwise=("x", "y"),
    source="numerics 7",
)
@jit
def silu_array(x: F32Array, y: F32Array, n: np.int32) -> None:
    """x / (1 + exp(-x)), float32 [n] (section 7)."""
    for i in range(n):
        y[i] = activations.silu(x[i])


@kernel("div_array", _floats("a"), _floats("b"), _Y, N_SCALAR, dims=(N,), source="numerics 1")
@jit
def div_array(a: F32Array, b: F32Array, y: F32Array, n: np.int32) -> None:
    """a / b, float32 [n], correctly rounded; IEEE results for zeros, infinities and NaN (section 1)."""
    for i in range(n):
        y[i] = a[i] / b[i]


@kernel(
    "sqrt_array",
    _floats("x"),
    _Y,
    N_SCALAR,
    dims=(N,),
    elementwise=("x", "y"),
    source="numerics 1",
)
@jit
def sqrt_array(x: F32Array, y: F32Array, n: np.int32) -> None:
    """Square root, float32 [n], correctly rounded; -0 gives -0, negative numbers NaN (section 1)."""
    for i in range(n):
        y[i] = np.sqrt(x[i])
