"""Stage digest: 64 bits, independent of the order of the elements (docs/numerics.md section 11)."""

from __future__ import annotations

import numpy as np

from emu.numerics.jit import jit

TYPE_F32 = 0
TYPE_S8 = 1
TYPE_U8 = 2
TYPE_S32 = 3

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FACTOR = np.uint64(0xD6E8FEB86659FD93)
_HALF_WORD = np.uint64(32)


@jit
def mix(i: np.uint32, w: np.uint32) -> np.uint64:
    """Contribution of the word ``w`` at index ``i``; a digest is the wrapping sum of them."""
    x = np.uint64((np.uint64(i) << _HALF_WORD) | np.uint64(w)) + _GOLDEN
    x = (x ^ (x >> _HALF_WORD)) * _FACTOR
    x = (x ^ (x >> _HALF_WORD)) * _FACTOR
    return np.uint64(x ^ (x >> _HALF_WORD))
