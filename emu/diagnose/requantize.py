"""Requantization of integer sums: three ways to round ``acc * multiplier * 2^(shift - 31)`` are in use.

double     SaturatingRoundingDoublingHighMul, then a rounding shift: rounds twice (CMSIS-NN, gemmlowp)
single     one 64-bit product, half added once, one shift (TFLite's single rounding)
half even  the exact quotient to the nearest integer, ties to even (a float implementation)

A mirror's own function is recognized by what it computes, not by its name.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from emu.diagnose.interpret import Swaps
from emu.kernels.spec import Kernel

_HALF31 = 1 << 30
_MAX32 = (1 << 31) - 1


def double_rounding(acc: int, multiplier: int, shift: int) -> int:
    """Two roundings. ``shift`` > 0 is a left shift before the product."""
    left, right = max(shift, 0), max(-shift, 0)
    product = _wrap32(acc << left) * multiplier
    nudge = _HALF31 if product >= 0 else 1 - _HALF31
    high = min(_towards_zero(product + nudge, 31), _MAX32)
    return _rounding_shift(high, right)


def single_rounding(acc: int, multiplier: int, shift: int) -> int:
    """One rounding, ties up."""
    total = 31 - shift
    return (acc * multiplier + (1 << (total - 1))) >> total


def single_rounding_away(acc: int, multiplier: int, shift: int) -> int:
    """One rounding, ties away from zero."""
    total = 31 - shift
    product = acc * multiplier
    size = (abs(product) + (1 << (total - 1))) >> total
    return size if product >= 0 else -size


def half_even(acc: int, multiplier: int, shift: int) -> int:
    """The exact quotient, ties to even."""
    total = 31 - shift
    product = acc * multiplier
    floor, rest = product >> total, product & ((1 << total) - 1)
    half = 1 << (total - 1)
    return floor + (rest > half or (rest == half and floor & 1))


def truncated(acc: int, multiplier: int, shift: int) -> int:
    """No rounding: an arithmetic shift."""
    return (acc * multiplier) >> (31 - shift)


WAYS: dict[str, tuple[str, Callable[[int, int, int], int]]] = {
    "double rounding": ("the requantization rounds twice", double_rounding),
    "single rounding": ("the requantization rounds once, ties up", single_rounding),
    "single rounding away": ("the requantization rounds once, ties away from zero", single_rounding_away),
    "half even": ("the requantization rounds once, ties to even", half_even),
    "truncation": ("the requantization does not round", truncated),
}

_SAMPLES = (
    (7984, 1583594044, -9), (585, 1527099593, -6), (1, 1 << 30, -1), (-2, 1 << 30, -1), (3, 1 << 30, -1),
    (-3, 1 << 30, -1), (1000003, 1717986918, -7), (-1000003, 1717986918, -7), (5, 1 << 30, 0),
    (-5, 1 << 30, 0), (77777, 1288490189, -4), (-77777, 1288490189, -4), (7, 1 << 30, 1), (6, 1 << 30, -2),
    (-6, 1 << 30, -2), (12345, 2147483647, -3), (-12345, 2147483647, -3),
)  # fmt: skip


def requantization_swaps(kernel: Kernel) -> Iterator[tuple[str, str, Swaps]]:
    """For each function of a mirror's module that requantizes: the other ways to do it."""
    plain = getattr(kernel.mirror, "py_func", kernel.mirror)
    for name, function in list(getattr(plain, "__globals__", {}).items()):
        way = way_of(function)
        if way is None:
            continue
        for other, (text, rule) in WAYS.items():
            if other != way:
                swap = {name: _factory(rule)}
                yield f"requantization, {other}", f"{text}; the mirror: {way}", Swaps(functions=swap)


def way_of(function: Any) -> str | None:
    """Which of the ways a function of (sum, multiplier, shift) computes; None for any other function."""
    plain = getattr(function, "py_func", function)
    if not inspect.isfunction(plain) or len(inspect.signature(plain).parameters) != 3:
        return None
    for typed in _STYLES:
        try:
            with np.errstate(all="ignore"):
                found = [int(np.asarray(plain(*typed(*sample))).reshape(-1)[0]) for sample in _SAMPLES]
        except Exception:  # not a function of this kind: it may raise anything
            continue
        for name, (_, rule) in WAYS.items():
            if found == [rule(*sample) for sample in _SAMPLES]:
                return name
    return None


def _arrays(acc: int, multiplier: int, shift: int) -> tuple[Any, Any, Any]:
    return np.array([acc], np.int64), np.array([multiplier], np.int32), np.array([shift], np.int8)


def _array_and_numbers(acc: int, multiplier: int, shift: int) -> tuple[Any, Any, Any]:
    return np.array([acc], np.int64), np.int32(multiplier), np.int32(shift)


def _numbers(acc: int, multiplier: int, shift: int) -> tuple[Any, Any, Any]:
    return acc, multiplier, shift


_STYLES = (_numbers, _array_and_numbers, _arrays)
"""How mirrors are called: numbers, one array with numbers, whole arrays."""


def _factory(rule: Callable[[int, int, int], int]) -> Callable[[Any], Any]:
    def swap(original: Any) -> Any:
        def other(sums: Any, multiplier: Any, shift: Any) -> Any:
            made = np.vectorize(lambda a, m, s: rule(int(a), int(m), int(s)), otypes=[np.int64])
            return made(sums, multiplier, shift)[()]

        return other

    return swap


def _wrap32(value: int) -> int:
    return (value + (1 << 31)) % (1 << 32) - (1 << 31)


def _towards_zero(value: int, bits: int) -> int:
    size = abs(value) >> bits
    return size if value >= 0 else -size


def _rounding_shift(value: int, right: int) -> int:
    """Divide by a power of two, ties away from zero."""
    half = (1 << right) >> 1
    size = (abs(value) + half) >> right
    return size if value >= 0 else -size
