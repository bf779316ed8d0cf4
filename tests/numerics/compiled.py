"""From bit patterns to the compiled building blocks and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.numerics.softfloat import canonical


def f32(bits: int) -> np.float32:
    return np.array(bits, np.uint32).view(np.float32)[()]


def bits(x: Any) -> int:
    """Pattern of a float result; the compiled functions return Python floats that hold a binary32 exactly."""
    return canonical(int(np.array(x, np.float32).view(np.uint32)))


def floats(patterns: list[int]) -> np.ndarray[Any, Any]:
    return np.array(patterns, np.uint32).view(np.float32)


def patterns(array: np.ndarray[Any, Any]) -> list[int]:
    """Patterns of a float array, every NaN as 0x7FC00000."""
    return [canonical(b) for b in array.view(np.uint32).tolist()]


def unary(function: Callable[..., Any], x: int) -> int:
    """Apply a compiled float function to one pattern."""
    return bits(function(f32(x)))
