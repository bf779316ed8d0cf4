"""Random bits and normals (docs/numerics.md section 6)."""

from __future__ import annotations

import numpy as np

from emu.numerics.constants import MINUS_TWO, TWO_POW_M24
from emu.numerics.jit import jit
from emu.numerics.logarithm import ln_f32
from emu.numerics.trigonometry import sincos_turn

ZERO_STATE = 0x9E3779B9
"""State that replaces 0, from which xorshift would never leave."""


@jit
def live_state(state: np.uint32) -> np.uint32:
    """The state itself, or 0x9E3779B9 for 0."""
    return np.uint32(ZERO_STATE) if state == 0 else np.uint32(state)


@jit
def xorshift32(state: np.uint32) -> np.uint32:
    """Next state, which is also the output; the state must not be 0."""
    s = np.uint32(state ^ (state << 13))
    s = np.uint32(s ^ (s >> 17))
    return np.uint32(s ^ (s << 5))


def before_xorshift32(word: int) -> int:
    """The state whose :func:`xorshift32` is ``word``."""
    for shift in (5, -17, 13):
        undone = word
        for _ in range(32 // abs(shift)):
            moved = undone << shift if shift > 0 else undone >> -shift
            undone = (word ^ moved) & 0xFFFFFFFF
        word = undone
    return word


@jit
def fmix32(seed: np.uint32) -> np.uint32:
    """Mix a seed that a person typed; a result of 0 is still to be replaced (:func:`live_state`)."""
    h = np.uint32(seed ^ (seed >> 16))
    h = np.uint32(h * np.uint32(0x85EBCA6B))
    h = np.uint32(h ^ (h >> 13))
    h = np.uint32(h * np.uint32(0xC2B2AE35))
    return np.uint32(h ^ (h >> 16))


@jit
def uniform(word: np.uint32) -> np.float32:
    """Uniform in [0, 1) from the upper 24 bits of ``word``, exact."""
    return np.float32(np.int32(word >> 8)) * TWO_POW_M24


@jit
def uniform_positive(word: np.uint32) -> np.float32:
    """Uniform in (0, 1] from the upper 24 bits of ``word``, exact."""
    return np.float32(np.int32((word >> 8) + 1)) * TWO_POW_M24


@jit
def normal_of(a: np.uint32, b: np.uint32) -> tuple[np.float32, np.float32]:
    """Two normals from two words by Box-Muller; the radius of u1 = 1 is -0."""
    radius = np.sqrt(MINUS_TWO * ln_f32(uniform_positive(a)))
    sin_u, cos_u = sincos_turn(uniform(b))
    return radius * cos_u, radius * sin_u


@jit
def normal_pair(state: np.uint32) -> tuple[np.uint32, np.float32, np.float32]:
    """Draw two words: (new state, z0, z1); the state must not be 0."""
    a = xorshift32(state)
    b = xorshift32(a)
    z0, z1 = normal_of(a, b)
    return b, z0, z1
