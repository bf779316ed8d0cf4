"""Contents that quantizers are tested with, beyond everyday values.

The dimension ``kind`` chooses: 0 to 3 leave the drawn values alone; 4 makes ties, exact or nearly; 5 goes to
the end of the small numbers; 6 takes any finite bit pattern; 7 plants an element that is not finite.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from emu.kernels.spec import Dim, Dims

Array = np.ndarray[Any, Any]

KIND = Dim("kind", 0, 7)
TIES, TINY, WILD, NOT_FINITE = 4, 5, 6, 7

_NOT_FINITE_PATTERNS = np.array(
    [0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00000, 0x7F800001, 0xFFFFFFFF], np.uint32
)


def _ties(row: Array, rng: np.random.Generator, unit: np.float32) -> None:
    """Multiples of half a unit within +-127 units, the largest magnitude exactly 127 units.

    Where the unit is no power of two, products with the scale end next to ties, on either side: a rounding
    that is left out (a fused multiply-add) shows there and hardly anywhere else.
    """
    if rng.random() < 0.5:
        unit = np.float32(unit * np.float32(1 + rng.random()))
    halves = rng.integers(-254, 255, row.size).astype(np.float32) * np.float32(0.5)
    halves[rng.integers(row.size)] = rng.choice(np.array([-127, 127], np.float32))
    with np.errstate(all="ignore"):
        row[:] = halves * unit


def _tiny(row: Array, rng: np.random.Generator) -> None:
    """Exponents around 2^-100, where a row turns to zeros, with some subnormals and signed zeros."""
    exponents = rng.integers(26, 29, row.size)
    exponents[rng.random(row.size) < 0.2] = 0
    mantissas = rng.integers(0, 1 << 23, row.size) * (rng.random(row.size) < 0.7)
    signs = rng.integers(0, 2, row.size)
    row.view(np.uint32)[:] = (signs << 31) | (exponents << 23) | mantissas


def _wild(row: Array, rng: np.random.Generator) -> None:
    bits = rng.integers(0, 1 << 32, row.size, np.uint32)
    bits[(bits & 0x7F800000) == 0x7F800000] &= 0xBFFFFFFF
    row.view(np.uint32)[:] = bits


def _shape(row: Array, kind: int, rng: np.random.Generator, unit: np.float32) -> None:
    if kind == TIES:
        _ties(row, rng, unit)
    elif kind == TINY:
        _tiny(row, rng)
    elif kind in (WILD, NOT_FINITE) and rng.random() < 0.5:
        _wild(row, rng)
    if kind == NOT_FINITE and rng.random() < 0.5:
        row.view(np.uint32)[rng.integers(row.size)] = rng.choice(_NOT_FINITE_PATTERNS)


def fill_rows(dims: Dims, rng: np.random.Generator, array: Array) -> None:
    """Shape each row of ``cols`` elements; what lies between rows becomes NaN and must be ignored."""
    flat = array.reshape(-1)
    for start in range(0, dims["rows"] * dims["x_stride"], max(dims["x_stride"], 1)):
        unit = np.float32(2.0 ** int(rng.integers(-40, 41)))
        if dims["cols"]:
            _shape(flat[start : start + dims["cols"]], dims["kind"], rng, unit)
        flat[start + dims["cols"] : start + dims["x_stride"]] = np.nan


def fill_one_scale(dims: Dims, rng: np.random.Generator, array: Array) -> None:
    """Shape the whole tensor as one row."""
    if array.size:
        _shape(array.reshape(-1), dims["kind"], rng, np.float32(2.0 ** int(rng.integers(-10, 11))))
