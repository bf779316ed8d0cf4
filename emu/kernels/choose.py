"""The next token from logits: the largest, or one drawn."""

from __future__ import annotations

from typing import Any

import numpy as np

from emu.kernels.layer_cases import vector
from emu.kernels.shapes import N_SCALAR, TAILS
from emu.kernels.spec import Dim, Dims, Scalar, Tensor, kernel
from emu.numerics.constants import ONE, ZERO
from emu.numerics.exponential import exp_f32
from emu.numerics.jit import jit
from emu.numerics.random import before_xorshift32, live_state, uniform, xorshift32
from emu.numerics.types import F32Array, U32Array

Array = np.ndarray[Any, Any]
_N = Dim("n", 0, 300, special=TAILS)


@kernel("argmax_f32", vector("x", "n", "any"), N_SCALAR, dims=(_N,), returns="int32", source="models 3")
@jit
def argmax_f32(x: F32Array, n: np.int32) -> int:
    """Index of the largest of float32 x [n], the lowest on ties, NaN never larger; -1 for n < 1.

    Docs/models.md section 3.
    """
    if n < 1:
        return -1
    best = 0
    for i in range(1, n):
        if x[i] > x[best]:
            best = i
    return best


_EQUAL = Dim("equal", 0, 15)
"""1 to 5: 2^(equal - 1) equal logits take all, and the draw falls exactly on a border between two of them."""


def _winners(dims: Dims) -> int:
    """How many elements share the draw, a power of two; 0 for a case of another kind."""
    if not 0 < dims["equal"] < 6 or not dims["n"]:
        return 0
    return 1 << min(dims["equal"], dims["n"].bit_length()) - 1


def _fill_equal(dims: Dims, rng: np.random.Generator, array: Array) -> None:
    if count := _winners(dims):
        top = np.float32(rng.integers(-8, 9))
        array[...] = top - np.float32(1 << 19)
        array.flat[rng.choice(array.size, count, replace=False)] = top


def _fill_state(dims: Dims, rng: np.random.Generator, array: Array) -> None:
    if count := _winners(dims):
        border = int(rng.integers(count)) * (1 << 24) // count
        array[0] = before_xorshift32(border << 8 | int(rng.integers(1, 256)))


@kernel(
    "sample_f32",
    Tensor("x", "float32", ("n",), values="gelu", fill=_fill_equal),
    N_SCALAR,
    Scalar("temperature", "float32", values="(0,16]"),
    Tensor("state", "uint32", (1,), role="inout", values="bits", fill=_fill_state),
    dims=(_N, _EQUAL),
    returns="int32",
    source="models 3",
)
@jit
def sample_f32(x: F32Array, n: np.int32, temperature: np.float32, state: U32Array) -> int:
    """An index of float32 x [n] drawn by its exponentials; state [1] moves by one word; -1 for n < 1.

    Docs/models.md section 3: first i whose running sum is above u * total, else the last.
    """
    if n < 1:
        return -1
    m, factor = x[argmax_f32(x, n)], ONE / np.float32(temperature)
    total = ZERO
    for i in range(n):
        total += exp_f32((x[i] - m) * factor)
    state[0] = xorshift32(live_state(state[0]))
    target = uniform(state[0]) * total
    running = ZERO
    for i in range(n):
        running += exp_f32((x[i] - m) * factor)
        if running > target:
            return i
    return int(n - 1)
