"""Comparison of two results, bit for bit (docs/numerics.md section 1): one NaN, and -0 is not +0."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from emu.kernels.spec import Kernel
from emu.verify.case import Case
from emu.verify.families import Array
from emu.verify.layout import Damage
from emu.verify.pattern import describe
from emu.verify.shapes import columns_of, grid_shape, shape_of, tensors, valid_mask
from emu.verify.target import CallResult

CANONICAL_NAN = 0x7FC00000
CANONICAL_NAN_64 = 0x7FF8 << 48


@dataclass
class Difference:
    """One output that differs. ``index`` is multi-dimensional; bits are of the element's own width.

    ``distance`` counts representable values between the two for floats, the plain difference for integers.
    """

    output: str
    dtype: str
    shape: tuple[int, ...]
    index: tuple[int, ...]
    expected_bits: int
    actual_bits: int
    distance: int | None
    largest: int | None
    count: int
    total: int
    pattern: str


@dataclass
class Mismatch:
    """All that differs in one case; ``returned``: (expected, actual) bits when the return values differ."""

    differences: list[Difference] = field(default_factory=list)
    returned: tuple[int, int] | None = None
    returns: str | None = None
    damage: tuple[Damage, ...] = ()


def bits_of(array: Array) -> Array:
    """Bit patterns as unsigned integers, every NaN of a format as one: 0x7FC00000 for binary32."""
    bits: Array = array.view(f"u{array.dtype.itemsize}")
    if array.dtype == np.float32:
        return np.where(bits & 0x7FFFFFFF > 0x7F800000, np.uint32(CANONICAL_NAN), bits)
    if array.dtype == np.float64:
        return np.where(np.isnan(array), np.uint64(CANONICAL_NAN_64), bits)
    return bits


def canonical(bits: int, dtype: str) -> int:
    """The same for one value."""
    if dtype == "float64":
        return CANONICAL_NAN_64 if bits & (1 << 63) - 1 > 0x7FF << 52 else bits
    return CANONICAL_NAN if dtype == "float32" and bits & 0x7FFFFFFF > 0x7F800000 else bits


def same_bytes(a: Array, b: Array) -> bool:
    """Fast path: equal byte for byte."""
    return bool((a.view(np.uint8) == b.view(np.uint8)).all())


def compare(kernel: Kernel, case: Case, expected: CallResult, actual: CallResult) -> Mismatch | None:
    """Differences of ``actual`` from ``expected`` (the mirror), or None when they are equal."""
    result = Mismatch(damage=actual.damage, returns=kernel.returns)
    if expected.returned is not None and actual.returned is not None:
        dtype = str(kernel.returns)
        pair = canonical(expected.returned, dtype), canonical(actual.returned, dtype)
        result.returned = pair if pair[0] != pair[1] else None
    for tensor in tensors(kernel):
        if tensor.role == "in":
            continue
        a, b = expected.outputs[tensor.name], actual.outputs[tensor.name]
        if same_bytes(a, b):
            continue
        shape = grid_shape(
            shape_of(kernel, tensor, case.dims), columns_of(kernel, tensor, case.dims, case.scalars)
        )
        found = difference(tensor.name, shape, a, b, valid_mask(kernel, tensor, case.dims))
        if found is not None:
            result.differences.append(found)
    return result if result.differences or result.returned or result.damage else None


def difference(
    name: str, shape: tuple[int, ...], expected: Array, actual: Array, mask: Array | None = None
) -> Difference | None:
    """Difference of two flat arrays of ``shape`` (the last row may be cut short); ``mask`` selects what
    counts.
    """
    a, b = bits_of(expected), bits_of(actual)
    unequal = a != b
    if mask is not None:
        unequal &= mask
    where = np.flatnonzero(unequal)
    if not where.size:
        return None
    first = int(where[0])
    distances = _distances(expected, actual, where)
    return Difference(
        output=name,
        dtype=expected.dtype.name,
        shape=shape,
        index=tuple(int(i) for i in np.unravel_index(first, shape)) if shape else (0,),
        expected_bits=int(a[first]),
        actual_bits=int(b[first]),
        distance=distances[0] if distances else None,
        largest=max(distances, key=abs) if distances else None,
        count=int(where.size),
        total=int(unequal.size if mask is None else mask.sum()),
        pattern=describe(unequal, shape, expected, actual),
    )


def ordered(bits: Array) -> Array:
    """Binary32 patterns as integers in value order: neighbours differ by one, -0 and +0 are both 0."""
    wide = bits.astype(np.int64)
    return np.where(wide & 0x80000000, -(wide & 0x7FFFFFFF), wide)


def _distances(expected: Array, actual: Array, where: Array) -> list[int]:
    """Actual minus expected per differing element: in ULP for floats (NaN left out), plain for integers."""
    a, b = expected[where], actual[where]
    if expected.dtype.kind == "f":
        if expected.dtype == np.float64:
            return _distances_of_doubles(a, b)
        numbers = ~(np.isnan(a) | np.isnan(b))
        if not numbers[0]:
            return []
        return [int(v) for v in ordered(b.view(np.uint32)[numbers]) - ordered(a.view(np.uint32)[numbers])]
    return [int(y) - int(x) for x, y in zip(a[:4096].tolist(), b[:4096].tolist(), strict=True)]


def _distances_of_doubles(a: Array, b: Array) -> list[int]:
    """In Python integers: the distance of two doubles may need 65 bits."""
    numbers = ~(np.isnan(a) | np.isnan(b))
    if not numbers[0]:
        return []
    pairs = zip(a[numbers][:4096].view(np.uint64), b[numbers][:4096].view(np.uint64), strict=True)
    return [_place_of_double(int(y)) - _place_of_double(int(x)) for x, y in pairs]


def _place_of_double(bits: int) -> int:
    magnitude = bits & (1 << 63) - 1
    return -magnitude if bits >> 63 else magnitude


def decimal(bits: int, dtype: str) -> str:
    """Decimal text of a bit pattern: shortest round-trip digits for floats, members for structs."""
    kind = np.dtype(dtype, align=True)
    if kind.names is not None:
        whole = np.frombuffer(bits.to_bytes(kind.itemsize, "little"), kind)[0]
        return f"({', '.join(str(whole[name]) for name in kind.names)})"
    value: Any = np.array(bits, f"u{kind.itemsize}").view(kind)[()]
    return str(value) if kind.kind == "f" else str(int(value))


def hexadecimal(bits: int, dtype: str) -> str:
    """Hexadecimal text of a bit pattern at the width of its dtype."""
    return f"0x{bits:0{2 * np.dtype(dtype, align=True).itemsize}X}"
