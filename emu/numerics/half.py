"""binary16 to binary32, exactly (docs/numerics.md section 8: scales of int4 groups)."""

from __future__ import annotations

import numpy as np

from emu.numerics.bits import float_of
from emu.numerics.constants import f32
from emu.numerics.jit import jit

_TWO_POW_M24 = f32(0x33800000)


@jit
def widen_f16(half: np.uint16) -> np.float32:
    """The binary32 number equal to the binary16 pattern ``half``: subnormals exactly, NaN as 0x7FC00000."""
    sign = np.int32(np.int32(half & 0x8000) << 16)
    exponent = np.int32((half >> 10) & 0x1F)
    fraction = np.int32(half & 0x3FF)
    if exponent == 31:
        magnitude = np.int32(0x7F800000) if fraction == 0 else np.int32(0x7FC00000)
        return float_of(np.int32(magnitude | sign if fraction == 0 else magnitude))
    if exponent == 0:
        tiny = np.float32(fraction) * _TWO_POW_M24
        return -tiny if sign != 0 else tiny
    return float_of(np.int32(sign | ((exponent + 112) << 23) | (fraction << 13)))
