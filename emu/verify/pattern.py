"""A short sentence about *which* elements differ and how: the first clue to the cause."""

from __future__ import annotations

import numpy as np

from emu.verify.families import Array


def describe(unequal: Array, shape: tuple[int, ...], expected: Array, actual: Array) -> str:
    """Sentence on the places (rows, columns, tail, lanes modulo 16, strides) and on the values (sign, off by
    one ...).
    """
    places = _border(unequal, shape) or _places(unequal, _padded(unequal, shape))
    parts = [places, _values(unequal, expected, actual)]
    return "; ".join(p for p in parts if p)


def _border(unequal: Array, shape: tuple[int, ...]) -> str:
    """For a picture [height][width][channels] that is right inside: "only at the border", with its sides."""
    if len(shape) != 3 or min(shape[:2]) < 3 or unequal.size != np.prod(shape) or unequal.sum() < 3:
        return ""
    pixels: Array = np.asarray(unequal.reshape(shape).any(axis=2))
    if pixels[1:-1, 1:-1].any():
        return ""
    lines = (pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1])
    sides = [n for n, line in zip(("top", "bottom", "left", "right"), lines, strict=True) if line[1:-1].any()]
    count, where = int(unequal.sum()), ", ".join(sides) or "corners"
    return f"only at the border ({where}), {count:,} of {unequal.size:,} elements; the inside is equal"


def _padded(unequal: Array, shape: tuple[int, ...]) -> Array | None:
    """The mask as rows x columns, a cut last row completed; None when the tensor has no rows."""
    if len(shape) < 2 or not shape[-1] or unequal.size <= shape[-1]:
        return None
    grid = np.zeros(-(-unequal.size // shape[-1]) * shape[-1], bool)
    grid[: unequal.size] = unequal
    return grid.reshape(-1, shape[-1])


def _places(unequal: Array, grid: Array | None) -> str:
    count = int(unequal.sum())
    if count == unequal.size:
        return "every element" if count > 1 else "the only element"
    if grid is not None:
        by_grid = _rows_and_columns(grid)
        if by_grid:
            return by_grid
    if count == 1:
        return "a single element"
    return _along(unequal) or f"scattered, {count} of {unequal.size}"


def _rows_and_columns(grid: Array) -> str:
    rows, columns = grid.shape
    bad_rows: Array = np.asarray(grid.any(axis=1))
    bad_columns: Array = np.asarray(grid.any(axis=0))
    if columns > 1 and grid[bad_rows].all() and not bad_rows.all():
        return f"whole rows: {_ranges(bad_rows)} of {rows}"
    if grid[:, bad_columns].all() and not bad_columns.all():
        return f"whole columns: {_ranges(bad_columns)} of {columns}"
    if bad_rows.sum() == 1:
        row = int(np.flatnonzero(bad_rows)[0])
        return f"only row {row} of {rows}: {_along(grid[row]) or _ranges(bad_columns)}"
    if not bad_rows[0] and bad_rows[1:].all():
        return f"every row but the first, {int(grid.sum())} of {grid.size} elements"
    if not bad_columns.all() and columns > 1 and bad_columns.sum() <= columns // 2:
        return f"only columns {_ranges(bad_columns)} of {columns}"
    return ""


def _along(line: Array) -> str:
    where = np.flatnonzero(line)
    first, last, n = int(where[0]), int(where[-1]), line.size
    if where.size == 1:
        return f"element {first} of {n}" + (" (the last)" if first == n - 1 else "")
    if last - first + 1 == where.size:
        if first == 0:
            return f"the first {where.size} of {n}"
        return f"the last {where.size} of {n} (tail)" if last == n - 1 else f"elements {first}..{last} of {n}"
    steps = np.unique(np.diff(where))
    if steps.size == 1 and where.size > 2:
        return f"every {int(steps[0])}th element from {first}"
    return _lanes(where, n)


def _lanes(where: Array, n: int) -> str:
    """The sparsest modulus whose lanes explain all places, if any does."""
    best = ""
    density = 0.26
    for modulus in (4, 8, 16, 32, 64):
        lanes = np.unique(where % modulus)
        if modulus < n and lanes.size < where.size and lanes.size / modulus < density:
            density = lanes.size / modulus
            which = ", ".join(map(str, lanes.tolist()))
            best = f"only indices with index mod {modulus} = {which} ({where.size} of {n})"
    return best


def _values(unequal: Array, expected: Array, actual: Array) -> str:
    where = np.flatnonzero(unequal)[:4096]
    a, b = expected[where], actual[where]
    if a.dtype.kind == "f":
        with np.errstate(invalid="ignore"):
            if ((a == -b) & (a != 0)).all():
                return "sign reversed"
            if (a == b).all():
                return "only the sign of zero"
        return _moved(unequal, expected, actual)
    delta = b.astype(object) - a.astype(object)
    if (delta == delta[0]).all() and a.size > 1:
        return f"always {int(delta[0]):+d}"
    if (a.astype(object) == -b.astype(object)).all() and a.size > 1:
        return "sign reversed"
    if a.size > 1 and (delta % 256 == 0).all():
        return "differences are multiples of 256 (a byte taken with the wrong sign?)"
    return _moved(unequal, expected, actual)


def _moved(unequal: Array, expected: Array, actual: Array) -> str:
    n = expected.size
    if n < 4 or int(unequal.sum()) < 3:
        return ""
    for shift in (1, -1, 2, 4, 8, 16):
        if abs(shift) >= n - 2:
            continue
        a = expected[: n - shift] if shift > 0 else expected[-shift:]
        b = actual[shift:] if shift > 0 else actual[: n + shift]
        if np.array_equal(a.view(np.uint8), b.view(np.uint8)) and not (a == a[0]).all():
            return f"the right values, moved by {shift}"
    return ""


def _ranges(mask: Array) -> str:
    """Compact text of the true positions: ``1..3, 7``."""
    where = np.flatnonzero(mask)
    breaks = np.flatnonzero(np.diff(where) > 1) + 1
    runs = [(int(r[0]), int(r[-1])) for r in np.split(where, breaks)]
    text = ", ".join(f"{a}" if a == b else f"{a}..{b}" for a, b in runs[:6])
    return text + (", ..." if len(runs) > 6 else "")
