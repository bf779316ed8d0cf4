"""Sine and cosine of an angle in turns (docs/numerics.md section 5)."""

from __future__ import annotations

import numpy as np

from emu.numerics.constants import FOUR, ONE, QUARTER, f32
from emu.numerics.jit import jit
from emu.numerics.rounding import rne

_S0 = f32(0x40C90FDB)
_S1 = f32(0xC2255DD2)
_S2 = f32(0x42A32227)
_S3 = f32(0xC293D4F9)
_K0 = f32(0xC19DE9C7)
_K1 = f32(0x4281D63F)
_K2 = f32(0xC2A6D5F0)


@jit
def sincos_turn(u: np.float32) -> tuple[np.float32, np.float32]:
    """(sin, cos) of 2*pi*u for u in [0, 1)."""
    k = rne(FOUR * u)
    r = u - np.float32(k) * QUARTER
    w = r * r
    s = r * (((_S3 * w + _S2) * w + _S1) * w + _S0)
    c = ((_K2 * w + _K1) * w + _K0) * w + ONE
    # selects instead of four returns: the loop over an array then becomes vector code
    swapped = (k & 1) != 0
    sin_u = c if swapped else s
    cos_u = s if swapped else c
    return (-sin_u if (k & 2) != 0 else sin_u), (-cos_u if ((k + 1) & 2) != 0 else cos_u)


@jit
def turns(p: np.float32, f: np.float32) -> np.float32:
    """Fraction of a turn in [0, 1) for position or time ``p`` and frequency ``f``, 0 <= p*f < 2^23."""
    t = p * f
    return t - np.float32(np.int32(t))
