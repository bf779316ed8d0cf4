"""Round half to even (docs/numerics.md section 2)."""

from __future__ import annotations

import numpy as np

from emu.numerics.bits import bits_of
from emu.numerics.constants import f32
from emu.numerics.jit import jit

_MAGIC = f32(0x4B400000)  # 1.5 * 2^23: the sum's last mantissa bit is worth 1
_MAGIC_BITS = 0x4B400000


@jit
def rne(x: np.float32) -> np.int32:
    """Nearest integer, ties to even, for |x| <= 2^22; for other finite x the same formula, wrapping."""
    return np.int32(bits_of(x + _MAGIC) - _MAGIC_BITS)
