"""What a tensor of a model file is: name, type, shape, bytes, and how random weights fill it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from emu.numerics.int4 import int4_groups, int4_row_bytes
from emu.numerics.packed import padded
from emu.numerics.ternary import ternary_row_bytes

NAME_BYTES: Final = 40
ALIGNMENT: Final = 16


class DType(IntEnum):
    """Element types by their numbers in the file."""

    F32 = 0
    I8 = 1
    U8 = 2
    I32 = 3
    F16 = 4
    INT4 = 5
    TERNARY = 6


ITEM_BYTES: Final = {DType.F32: 4, DType.U8: 1, DType.I32: 4, DType.F16: 2}
CODES: Final = frozenset((DType.I8, DType.INT4, DType.TERNARY))
"""Weight codes: rows are rounded up to 16 bytes."""


@dataclass(frozen=True)
class TensorSpec:
    """One tensor: ``shape`` of 1 to 4 dimensions, row-major; ``group`` of int4 columns, else 0.

    ``fill`` names the recipe of random weights (:mod:`emu.models.modelfile.random_weights`).
    """

    name: str
    dtype: DType
    shape: tuple[int, ...]
    fill: str
    group: int = 0

    @property
    def rows(self) -> int:
        """Rows: the product of all dimensions but the last, 1 for a vector."""
        return math.prod(self.shape[:-1])

    @property
    def cols(self) -> int:
        """Elements of a row: K of a linear, 9c of a convolution."""
        return self.shape[-1]

    @property
    def row_bytes(self) -> int:
        """Bytes of a row in the file; code matrices are rounded up to 16."""
        if self.dtype is DType.I8:
            return padded(self.cols, ALIGNMENT)
        if self.dtype is DType.INT4:
            return int4_row_bytes(self.cols, ALIGNMENT)
        if self.dtype is DType.TERNARY:
            return ternary_row_bytes(self.cols, ALIGNMENT)
        return self.cols * ITEM_BYTES[self.dtype]

    @property
    def length(self) -> int:
        """Bytes of the tensor in the file."""
        return self.rows * self.row_bytes

    @property
    def groups(self) -> int:
        """int4 groups of a row."""
        return int4_groups(self.cols, self.group)

    @property
    def is_scale(self) -> bool:
        """True for numbers that must not be negative."""
        return self.name.endswith(".scale") or self.name == "dec.s_in"

    @property
    def parameters(self) -> int:
        """Weights that count as parameters of the model: no scales, tables, words or static scales."""
        return 0 if self.fill in ("scale", "table", "bytes", "s_in") else math.prod(self.shape)


Layout = tuple[TensorSpec, ...]


def by_name(layout: Layout) -> Mapping[str, TensorSpec]:
    """The tensors of a layout by name."""
    return {spec.name: spec for spec in layout}


def vector(name: str, n: int, fill: str) -> TensorSpec:
    """A float32 vector."""
    return TensorSpec(name, DType.F32, (n,), fill)


def int8_layer(name: str, out: int, cols: int) -> Layout:
    """``name.w`` [out][cols] of a linear or a convolution, ``name.w.scale`` and ``name.b`` [out]."""
    return (
        TensorSpec(f"{name}.w", DType.I8, (out, cols), "weight"),
        vector(f"{name}.w.scale", out, "scale"),
        vector(f"{name}.b", out, "small"),
    )


def ternary_layer(name: str, out: int, cols: int) -> Layout:
    """A BitLinear matrix with its one scale."""
    matrix = TensorSpec(f"{name}.w", DType.TERNARY, (out, cols), "weight")
    return matrix, vector(f"{matrix.name}.scale", 1, "scale")


def int4_layer(name: str, rows: int, cols: int, group: int, fill: str = "weight") -> Layout:
    """An int4 matrix with a binary16 scale for each group of each row."""
    matrix = TensorSpec(f"{name}.w", DType.INT4, (rows, cols), fill, group)
    return matrix, TensorSpec(f"{matrix.name}.scale", DType.F16, (rows, matrix.groups), "scale")
