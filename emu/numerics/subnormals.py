"""Refuse to compute where subnormal floats are flushed to zero (docs/numerics.md section 1)."""

from __future__ import annotations

import functools

import numpy as np


class SubnormalsDisabledError(RuntimeError):
    """The processor flushes subnormal floats to zero, so results would differ from the chip's."""


def subnormals_work() -> bool:
    """True when 2^-126 * 0.5f is not 0 in the calling thread."""
    smallest_normal = np.array([0x00800000], np.uint32).view(np.float32)
    half = np.array([0x3F000000], np.uint32).view(np.float32)
    return bool((smallest_normal * half).view(np.uint32)[0] == 0x00400000)


@functools.cache
def require_subnormals() -> None:
    """Check once per process; raises SubnormalsDisabledError when subnormals are flushed."""
    if not subnormals_work():
        raise SubnormalsDisabledError(
            "this process flushes subnormal floats to zero (2^-126 * 0.5 gives 0), so mirrors cannot be "
            "exact. A library built with -ffast-math usually switched this on: import emu before it, or run "
            "emu in a process of its own"
        )
