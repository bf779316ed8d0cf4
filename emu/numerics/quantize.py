"""Float to int8 (docs/numerics.md section 8)."""

from __future__ import annotations

import numpy as np

from emu.numerics.bits import float_of
from emu.numerics.constants import S8_MAX, S8_MIN
from emu.numerics.jit import jit
from emu.numerics.rounding import rne
from emu.numerics.types import F32Array

TINY_BITS = 0x0D800000
"""2^-100: a row whose largest magnitude is below it is quantized to zeros, so that 127/a stays finite."""

_MAGNITUDE = 0x7FFFFFFF
NOT_FINITE_BITS = 0x7F800000


@jit
def largest_magnitude_bits(x: F32Array) -> np.int32:
    """Bit pattern of max |x[i]|, +0 for an empty array; 0x7F800000 or more when an element is not finite.

    Magnitudes of floats are ordered like their bit patterns, so the scan needs no float compare and sees NaN.
    """
    largest = np.int32(0)
    for bits in x.view(np.int32):
        largest = max(largest, np.int32(bits & _MAGNITUDE))
    return largest


@jit
def magnitude_of(bits: np.int32) -> np.float32:
    """The float whose pattern :func:`largest_magnitude_bits` returned."""
    return float_of(bits)


@jit
def quantize_clamped(x: np.float32, inv_scale: np.float32) -> np.int8:
    """x * inv_scale limited to -127..127, then rounded; NaN becomes -127.

    The clamp stands before the rounding because ``rne`` is exact up to 2^22 only.
    """
    t = x * inv_scale
    t = t if t > S8_MIN else S8_MIN
    t = t if t < S8_MAX else S8_MAX
    return np.int8(rne(t))
