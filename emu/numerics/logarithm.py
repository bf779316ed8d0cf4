"""Natural logarithm in binary32 (docs/numerics.md section 4)."""

from __future__ import annotations

import numpy as np

from emu.numerics.bits import bits_of, float_of
from emu.numerics.constants import HALF, ONE, f32
from emu.numerics.jit import jit

_SQRT2 = f32(0x3FB504F3)
_LN_2 = f32(0x3F317218)
_L0 = f32(0x3EAAABBF)
_L1 = f32(0xBE7FD182)
_L2 = f32(0x3E4C091C)
_L3 = f32(0xBE2FA2BF)
_L4 = f32(0x3E2426F8)
_L5 = f32(0xBDD008C4)


@jit
def ln_f32(u: np.float32) -> np.float32:
    """Natural logarithm of a normal u in (0, 1]; +0 at 1. Outside that domain the result means nothing."""
    bits = bits_of(u)
    e = np.int32((bits >> 23) - 127)
    m = float_of(np.int32((bits & 0x007FFFFF) | 0x3F800000))
    if m > _SQRT2:
        m = m * HALF
        e = np.int32(e + 1)
    z = m - ONE
    p = ((((_L5 * z + _L4) * z + _L3) * z + _L2) * z + _L1) * z + _L0
    r = z * z
    y = (z * r) * p
    y = y - HALF * r
    y = z + y
    return y + np.float32(e) * _LN_2
