"""Between a float and its bit pattern, inside compiled code."""

from __future__ import annotations

import numpy as np

from emu.numerics.constants import NAN_BITS
from emu.numerics.jit import jit

_EXPONENT = 0x7F800000
_MAGNITUDE = 0x7FFFFFFF


@jit
def bits_of(x: np.float32) -> np.int32:
    """Bit pattern of a binary32 number as int32."""
    return np.float32(x).view(np.int32)


@jit
def float_of(bits: np.int32) -> np.float32:
    """Binary32 number with the bit pattern ``bits``."""
    return np.int32(bits).view(np.float32)


@jit
def canonical_bits(bits: np.uint32) -> np.uint32:
    """Bit pattern for digests and comparisons: every NaN becomes 0x7FC00000, all else stays (section 1)."""
    if (bits & _MAGNITUDE) > _EXPONENT:
        return np.uint32(NAN_BITS)
    return np.uint32(bits)
