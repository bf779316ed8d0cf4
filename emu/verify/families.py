"""Families of tensor contents, by the name that a spec gives in ``Tensor.values`` or ``Scalar.values``.

A family knows its extremes, how to sample its whole range and how to sample moderate values; the *kinds* of
:mod:`emu.verify.contents` combine these into tensors. A spec file may add a family with :func:`add_family`;
intervals such as ``"[0,1)"`` or ``"(-6,6]"`` need no registration.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from emu.verify.errors import UsageProblem

Array = np.ndarray[Any, Any]
_NUMBER = r"\s*([-+]?(?:0x[0-9a-fA-F]+|[0-9.]+(?:e[-+]?[0-9]+)?))\s*"
_INTERVAL = re.compile(rf"([\[(]){_NUMBER},{_NUMBER}([\])])")


class Family(ABC):
    """A set of values of one dtype; ``specials`` are its extremes and turning points."""

    dtype: np.dtype[Any]
    specials: Array
    low: Any
    high: Any

    @abstractmethod
    def wide(self, rng: np.random.Generator, n: int) -> Array:
        """``n`` values over the whole range."""

    @abstractmethod
    def small(self, rng: np.random.Generator, n: int) -> Array:
        """``n`` moderate values, the ones that ordinary data has."""

    @abstractmethod
    def ends(self, rng: np.random.Generator, high: Array) -> Array:
        """Large values, of one sign where ``high`` is true and of the other (or the low end) elsewhere."""

    def ramp(self, rng: np.random.Generator, n: int) -> Array:
        """Values that differ from position to position: a wrong index or stride cannot hide."""
        return self.wide(rng, n)

    def neutral(self, wanted: int) -> Any:
        """The element that contributes nothing: ``wanted``, or the simplest value when it is outside."""
        for value in (wanted, 0, 1, -1):
            if self.low <= value <= self.high:
                return self.dtype.type(value)
        return self.dtype.type(self.low)

    def nonfinite(self) -> Array:
        """NaN and infinities of the family; empty for integers and finite families."""
        return np.empty(0, self.dtype)


class Integers(Family):
    """All integers ``low..high`` of an integer dtype."""

    def __init__(self, dtype: str, low: int | None = None, high: int | None = None) -> None:
        info = np.iinfo(dtype)
        self.dtype = np.dtype(dtype)
        self.low = info.min if low is None else low
        self.high = info.max if high is None else high
        near = [self.low, self.low + 1, self.high, self.high - 1, 0, 1, -1, 2, 3, -2, 127, -127, 128, -128]
        near += [255, 256, 0x7FFF, -0x8000, 0x8000, 0xFFFF, 0x7FFFFFFF, -0x80000000, 0x80000000, 0x9E3779B9]
        self.specials = np.array(sorted({v for v in near if self.low <= v <= self.high}), self.dtype)

    def wide(self, rng: np.random.Generator, n: int) -> Array:
        """Uniform over the range."""
        return rng.integers(self.low, self.high, n, self.dtype.type, endpoint=True)

    def small(self, rng: np.random.Generator, n: int) -> Array:
        """Values around zero, or at the end that is nearest to it."""
        low, high = max(self.low, min(self.high, 0) - 9), min(self.high, 9)
        return rng.integers(low, max(low, high), n, self.dtype.type, endpoint=True)

    def ends(self, rng: np.random.Generator, high: Array) -> Array:
        """Values near one end or the other."""
        span = self.high - self.low
        quarter = max(span // 8, min(span, 1))
        near = rng.integers(0, quarter, high.size, np.uint64, endpoint=True)
        up = np.uint64(self.high & 0xFFFFFFFFFFFFFFFF) - near
        down = np.uint64(self.low & 0xFFFFFFFFFFFFFFFF) + near
        return np.where(high, up, down).astype(self.dtype)

    def ramp(self, rng: np.random.Generator, n: int) -> Array:
        """An arithmetic progression that wraps."""
        span = self.high - self.low + 1
        step = int(rng.integers(1, 1 << 16)) * 2 + 1
        start = int(rng.integers(0, 1 << 16))
        steps = (np.arange(n, dtype=np.uint64) * np.uint64(step) + np.uint64(start)) % np.uint64(
            min(span, (1 << 63) - 25)
        )
        return (steps + np.uint64(self.low & 0xFFFFFFFFFFFFFFFF)).astype(self.dtype)


class Codes(Integers):
    """Bytes that a fill turns into packed codes: any byte, and long runs of one byte whose codes all push one
    way.
    """

    def __init__(self) -> None:
        super().__init__("uint8")
        self.specials = np.array(
            [0x00, 0x55, 0xAA, 0x11, 0x77, 0x99, 0x54, 0x56, 0x15, 0x95, 0x0F, 0xF0, 0x97, 0x79], np.uint8
        )

    def ends(self, rng: np.random.Generator, high: Array) -> Array:
        """Values near one end or the other."""
        up, down = rng.choice(np.array([0xAA, 0x77], np.uint8)), rng.choice(np.array([0x00, 0x99], np.uint8))
        chosen: Array = np.where(high, up, down)
        return chosen


class Table(Family):
    """Nothing is generated: the tensor's fill writes everything."""

    def __init__(self, dtype: str) -> None:
        self.dtype = np.dtype(dtype)
        self.specials = np.zeros(1, dtype)
        self.low = self.high = 0

    def wide(self, rng: np.random.Generator, n: int) -> Array:
        """Uniform over the range."""
        return np.zeros(n, self.dtype)

    def small(self, rng: np.random.Generator, n: int) -> Array:
        """Values around zero."""
        return self.wide(rng, n)

    def ends(self, rng: np.random.Generator, high: Array) -> Array:
        """Values near one end or the other."""
        return self.wide(rng, high.size)


_NAMED: dict[tuple[str, str], Family] = {
    ("s8", "int8"): Integers("int8", -127, 127),
    ("s8_full", "int8"): Integers("int8"),
    ("u8", "uint8"): Integers("uint8"),
    ("s32", "int32"): Integers("int32"),
    ("codes", "uint8"): Codes(),
}


def add_family(name: str, dtype: str, family: Family) -> None:
    """Register a family of a spec file under ``name`` for ``dtype``. Raises UsageProblem when it exists."""
    if (name, dtype) in _NAMED:
        raise UsageProblem(f"value family {name!r} for {dtype} exists already")
    _NAMED[name, dtype] = family


def family(name: str, dtype: str) -> Family:
    """The family ``name`` for ``dtype``; built once. Raises UsageProblem for an unknown name or a wrong
    dtype.
    """
    key = (name, np.dtype(dtype).name)
    if key not in _NAMED:
        _NAMED[key] = _build(*key)
    return _NAMED[key]


def _build(name: str, dtype: str) -> Family:
    from emu.verify.families_double import Doubles, double_family
    from emu.verify.families_float import FLOAT_NAMES, Floats, float_family

    if name == "table":
        return Table(dtype)
    kind = np.dtype(dtype).kind
    interval = _INTERVAL.fullmatch(name)
    if kind == "f":
        found = float_family(name, dtype) if dtype == "float32" else double_family(name)
        if found is not None:
            return found
        if interval:
            left, low, high, right = interval.groups()
            if dtype == "float64":
                return Doubles(float(low), float(high), low_open=left == "(", high_open=right == ")")
            return Floats(dtype, float(low), float(high), low_open=left == "(", high_open=right == ")")
    elif kind in "iu" and interval:
        left, low, high, right = interval.groups()
        return Integers(dtype, int(low, 0) + (left == "("), int(high, 0) - (right == ")"))
    elif kind in "iu" and name in ("any", "bits", "finite"):
        return Integers(dtype)
    known = sorted(
        {n for n, d in _NAMED if d == dtype} | {"any", "bits"} | set(FLOAT_NAMES if kind == "f" else ())
    )
    raise UsageProblem(
        f'no value family {name!r} for dtype {dtype} (known: {", ".join(known)}, or an interval like "[0,1)")'
    )
