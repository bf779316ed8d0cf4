"""GELU from the tables that travel in the model file."""

from __future__ import annotations

from typing import Any

import numpy as np

from emu.kernels.shapes import N_SCALAR, N
from emu.kernels.spec import Dims, Tensor, kernel
from emu.numerics import activations
from emu.numerics.jit import jit
from emu.numerics.tables import table
from emu.numerics.types import F32Array

Array = np.ndarray[Any, Any]


def _fill_value(dims: Dims, rng: np.random.Generator, array: Array) -> None:
    array.flat[:] = table("gelu_value")


def _fill_slope(dims: Dims, rng: np.random.Generator, array: Array) -> None:
    array.flat[:] = table("gelu_slope")


@kernel(
    "gelu_array",
    Tensor("x", "float32", ("n",), values="gelu"),
    Tensor("y", "float32", ("n",), role="out"),
    N_SCALAR,
    Tensor("value", "float32", (1024,), values="table", fill=_fill_value),
    Tensor("slope", "float32", (1024,), values="table", fill=_fill_slope),
    dims=(N,),
    elementwise=("x", "y"),
    source="numerics 7",
)
@jit
def gelu_array(x: F32Array, y: F32Array, n: np.int32, value: F32Array, slope: F32Array) -> None:
    """GELU of float32 x [n] by interpolation in the tables value, slope [1024] (section 7)."""
    for i in range(n):
        y[i] = activations.gelu(x[i], value, slope)
