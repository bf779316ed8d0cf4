"""ReLU, GELU and SiLU (docs/numerics.md sections 1 and 7)."""

from __future__ import annotations

import numpy as np

from emu.numerics.constants import MINUS_SIX, ONE, SIX, ZERO, f32
from emu.numerics.exponential import exp_f32
from emu.numerics.jit import jit
from emu.numerics.types import F32Array

_STEPS_PER_UNIT = f32(0x42AA8000)  # 85.25 = 1023 / 12


@jit
def relu(x: np.float32) -> np.float32:
    """x where x > 0, else +0 (also for NaN and -0)."""
    return x if x > ZERO else ZERO


@jit
def gelu(x: np.float32, value: F32Array, slope: F32Array) -> np.float32:
    """GELU by linear interpolation in the tables [1024] of :func:`emu.numerics.tables.gelu_tables`."""
    if x != x:
        return x
    if x <= MINUS_SIX:
        return ZERO
    if x >= SIX:
        return x
    p = (x + SIX) * _STEPS_PER_UNIT
    i = min(np.int32(p), np.int32(1022))
    return np.float32(value[i] + slope[i] * (p - np.float32(i)))


@jit
def silu(x: np.float32) -> np.float32:
    """x / (1 + exp(-x))."""
    return x / (ONE + exp_f32(-x))
