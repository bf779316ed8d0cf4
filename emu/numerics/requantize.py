"""Requantization of int32 sums with a multiplier and a shift, for mirrors of int8 layers from elsewhere.

Three ways are in use, and they differ by one on real inputs, so a mirror states which one its firmware has:

* ``double``: the rounding doubling high half of the product, then a rounding right shift (halves away from
  zero);
* ``single``: one shift of the exact product, halves upwards, on 64 bits;
* ``float_even``: a float32 product with the scale, halves to the even neighbour.

The first two take a multiplier of 31 fraction bits and a power of two: value * multiplier * 2^(shift - 31).
"""

from __future__ import annotations

import numpy as np

from emu.numerics.types import AnyArray, S32Array

_LOW, _HIGH = -(1 << 31), (1 << 31) - 1


def requantize_double(sums: AnyArray, multiplier: int, shift: int) -> S32Array:
    """int32 [n] from int32 [n]; rounds twice. ``shift`` -31..30, negative to the right."""
    left, right = max(shift, 0), max(-shift, 0)
    product = _wrapped(sums.astype(np.int64) << left) * multiplier
    nudge = np.where(product >= 0, 1 << 30, 1 - (1 << 30))
    high = np.minimum(_toward_zero(product + nudge, 31), _HIGH)
    half = (1 << right) >> 1
    away = np.where(high >= 0, (high + half) >> right, -((-high + half) >> right))
    rounded: S32Array = away.astype(np.int32)
    return rounded


def requantize_single(sums: AnyArray, multiplier: int, shift: int) -> S32Array:
    """int32 [n] from int32 [n]; rounds once, on all bits of the product. ``shift`` -31..30."""
    total = 31 - shift
    product = sums.astype(np.int64) * multiplier
    rounded: S32Array = np.clip((product + (1 << (total - 1))) >> total, _LOW, _HIGH).astype(np.int32)
    return rounded


def requantize_float_even(sums: AnyArray, scale: np.float32) -> S32Array:
    """int32 [n] from int32 [n]: rint of the float32 product with ``scale``."""
    rounded: S32Array = np.rint(sums.astype(np.float32) * np.float32(scale)).astype(np.int32)
    return rounded


def _wrapped(x: AnyArray) -> AnyArray:
    return x.astype(np.int32).astype(np.int64)


def _toward_zero(x: AnyArray, bits: int) -> AnyArray:
    return np.where(x >= 0, x >> bits, -(-x >> bits))
