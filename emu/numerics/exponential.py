"""exp in binary32 (docs/numerics.md section 3)."""

from __future__ import annotations

import numpy as np

from emu.numerics.bits import bits_of, float_of
from emu.numerics.constants import ONE, ZERO, f32
from emu.numerics.jit import jit
from emu.numerics.rounding import rne

_LOW = f32(0xC2AE0000)  # -87
_HIGH = f32(0x42B00000)  # 88
_LOG2_E = f32(0x3FB8AA3B)
_C1 = f32(0x3F317AFD)
_C2 = f32(0x3E780627)
_C3 = f32(0x3D61512E)


@jit
def exp_f32(x: np.float32) -> np.float32:
    """e to the power x: 2^n * p(f), relative error at most 1.051e-4, exactly 1 at 0.

    NaN stays NaN, x < -87 gives +0, x > 88 counts as 88; the result is otherwise normal.
    """
    if x != x:
        return x
    if x < _LOW:
        return ZERO
    if x > _HIGH:
        x = _HIGH
    t = x * _LOG2_E
    n = rne(t)
    f = t - np.float32(n)
    p = ((_C3 * f + _C2) * f + _C1) * f + ONE
    return float_of(np.int32(bits_of(p) + (n << 23)))
