"""A pair of tensors that differ, as a section of the page."""

from __future__ import annotations

import numpy as np

from emu.numerics.types import AnyArray
from emu.report.document import Grid, Picture, Row, Tensor
from emu.report.drawing import LARGEST, difference_picture, histogram, values_picture
from emu.verify.compare import bits_of, decimal, difference, hexadecimal, ordered
from emu.verify.describe import count_text, distance_text, first_text

_LISTED = 24
_LANES = 16


def tensor_section(
    name: str, shape: tuple[int, ...], expected: AnyArray, actual: AnyArray, mask: AnyArray | None = None
) -> Tensor | None:
    """The section of an output; flat arrays of one dtype, ``mask``: what counts. None when they are equal."""
    found = difference(name, shape, expected, actual, mask)
    if found is None:
        return None
    unequal = bits_of(expected) != bits_of(actual)
    if mask is not None:
        unequal &= mask
    distances = signed_distances(expected, actual)
    unit = "ULP" if expected.dtype.kind == "f" else "units"
    counted = distances[unequal & np.isfinite(distances)]
    pictures = _pictures(shape, expected, actual, unequal, distances, count_text(found))
    return Tensor(
        title=f"{name} {expected.dtype.name} [{']['.join(map(str, shape))}]",
        told=f"{first_text(found)}; {count_text(found)}",
        expected=pictures[0],
        actual=pictures[1],
        difference=pictures[2],
        histogram=histogram([int(d) for d in counted[:100_000]], unit),
        elements=_elements(shape, expected, actual, unequal, distances),
    )


def signed_distances(expected: AnyArray, actual: AnyArray) -> AnyArray:
    """Actual minus expected as float64: ULP for binary32, plain for integers; NaN for what is no number."""
    if expected.dtype == np.float32:
        steps = ordered(actual.view(np.uint32)) - ordered(expected.view(np.uint32))
        none = np.isnan(expected) | np.isnan(actual)
        return np.where(none, np.nan, steps.astype(np.float64))
    return actual.astype(np.float64) - expected.astype(np.float64)


def _pictures(
    shape: tuple[int, ...],
    expected: AnyArray,
    actual: AnyArray,
    unequal: AnyArray,
    distances: AnyArray,
    told: str,
) -> tuple[Picture | None, Picture | None, Picture | None]:
    if expected.size < 2:
        return None, None, None
    columns = shape[-1] if len(shape) > 1 and shape[-1] else min(expected.size, 64)
    grids = [_grid(a, columns) for a in (expected, actual, unequal, distances)]
    rows_at, columns_at = _window(grids[2])
    e, a, u, d = (g[rows_at, columns_at] for g in grids)
    both = np.concatenate([e.ravel(), a.ravel()]).astype(np.float64)
    both = both[np.isfinite(both)]
    low, high = (float(both.min()), float(both.max())) if both.size else (0.0, 1.0)
    cut = "" if u.shape == grids[2].shape else f" (rows {rows_at.start}.., columns {columns_at.start}..)"
    return (
        values_picture(e, low, high, f"expected{cut}"),
        values_picture(a, low, high, f"actual{cut}"),
        difference_picture(d, u.astype(bool), columns_at.start, told),
    )


def _grid(values: AnyArray, columns: int) -> AnyArray:
    rows = -(-values.size // columns)
    grid = np.zeros(rows * columns, values.dtype)
    grid[: values.size] = values
    return grid.reshape(rows, columns)


def _window(unequal: AnyArray) -> tuple[slice, slice]:
    """The part of a large tensor around its first difference."""
    row, column = (int(i) for i in np.argwhere(unequal)[0])
    return _slice(row, unequal.shape[0]), _slice(column, unequal.shape[1])


def _slice(middle: int, size: int) -> slice:
    start = max(0, min(middle - LARGEST // 2, size - LARGEST)) // _LANES * _LANES
    return slice(start, min(start + LARGEST + _LANES, size))


def _elements(
    shape: tuple[int, ...], expected: AnyArray, actual: AnyArray, unequal: AnyArray, distances: AnyArray
) -> Grid:
    """The first differing elements as a table, with the lane that each has in a 16-byte vector."""
    name, per_vector = expected.dtype.name, 16 // expected.dtype.itemsize
    rows = []
    e, a = bits_of(expected), bits_of(actual)
    for at in np.flatnonzero(unequal)[:_LISTED]:
        index = ", ".join(str(int(i)) for i in np.unravel_index(int(at), shape)) if shape else "0"
        texts = [f"{decimal(int(b[at]), name)} ({hexadecimal(int(b[at]), name)})" for b in (e, a)]
        d = distances[at]
        told = distance_text(int(d), name).lstrip(", ") if np.isfinite(d) else "not a number"
        rows.append(Row((f"[{index}]", *texts, told, str(int(at) % per_vector)), "bad"))
    return Grid(("element", "expected", "actual", "distance", "index mod 16 bytes"), tuple(rows), texts=5)
