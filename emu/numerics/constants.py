"""Floats of the contract by their bit patterns (docs/numerics.md)."""

from __future__ import annotations

from typing import Final

import numpy as np


def f32(bits: int) -> np.float32:
    """Return the binary32 number with this bit pattern."""
    return np.float32(np.array(bits, np.uint32).view(np.float32)[()])


ZERO: Final = f32(0x00000000)
HALF: Final = f32(0x3F000000)
ONE: Final = f32(0x3F800000)
MINUS_TWO: Final = f32(0xC0000000)
FOUR: Final = f32(0x40800000)
QUARTER: Final = f32(0x3E800000)
SIX: Final = f32(0x40C00000)
MINUS_SIX: Final = f32(0xC0C00000)
S8_MAX: Final = f32(0x42FE0000)  # 127
S8_MIN: Final = f32(0xC2FE0000)  # -127

EPS_TERNARY: Final = f32(0x3727C5AC)  # 1e-5
EPS_NORM: Final = f32(0x358637BD)  # 1e-6
TWO_POW_M24: Final = f32(0x33800000)

NAN_BITS: Final = 0x7FC00000
"""The one NaN of digests, dumps and comparisons."""
