"""Arrays at a chosen address: mirrors that check alignment look at where their arrays stand."""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from emu.numerics.types import AnyArray

T = TypeVar("T", bound=AnyArray)

BLOCK = 16


def place(array: T, offset: int, block: int = BLOCK) -> T:
    """Copy ``array`` to a 1-D array whose address is ``offset`` modulo ``block`` (a power of two)."""
    flat = np.ascontiguousarray(array).reshape(-1)
    buffer = np.empty(flat.nbytes + 2 * block, np.uint8)
    start = (offset - buffer.ctypes.data) % block
    copy = np.ndarray(flat.shape, flat.dtype, buffer=buffer.data, offset=start)
    copy[:] = flat
    return copy  # type: ignore[return-value]
