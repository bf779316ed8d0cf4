"""What both packed weight formats share: the refusal of an invalid code, and row sizes."""

from __future__ import annotations

import numpy as np

from emu.numerics.types import AnyArray, F64Array


class PackedCodeError(ValueError):
    """A packed matrix holds a code that the format forbids. ``row`` and ``column`` say where."""

    def __init__(self, name: str, row: int, column: int, what: str) -> None:
        super().__init__(f"{name}: row {row}, column {column}: {what}")
        self.name, self.row, self.column = name, row, column


def refuse(name: str, bad: AnyArray, what: str) -> None:
    """Raise PackedCodeError at the first true element of ``bad`` [rows][cols], if there is one."""
    where = np.argwhere(bad)
    if len(where):
        raise PackedCodeError(name, int(where[0, 0]), int(where[0, 1]), what)


def padded(size: int, multiple: int) -> int:
    """``size`` rounded up to a multiple."""
    return -(-size // multiple) * multiple


def finite_matrix(weights: AnyArray, name: str) -> F64Array:
    """Weights [rows][cols] as double; ValueError for another rank, PackedCodeError for NaN or infinity."""
    matrix = np.asarray(weights, np.float64)
    if matrix.ndim != 2:
        raise ValueError(f"{name}: expected a matrix [rows][cols], got {matrix.ndim} dimension(s)")
    refuse(name, ~np.isfinite(matrix), "the weight is not finite")
    return matrix
