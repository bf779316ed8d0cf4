"""Parameters and contents that the layers of the models share in their descriptions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from emu.kernels.shapes import extent
from emu.kernels.spec import Dim, Dims, Scalar, Tensor
from emu.numerics.packed import padded
from emu.numerics.types import F32Array

Array = np.ndarray[Any, Any]

ROWS = Dim("rows", 0, 5, special=(1, 2, 3))
OUTS = Dim("outs", 0, 7, special=(1, 2, 3))
COLS = Dim("cols", 1, 200, special=(1, 15, 16, 17, 31, 32, 33, 64, 96, 192))
GAPS = tuple(Dim(f"{name}_gap", 0, 3) for name in ("x", "w", "y"))

BAD = Tensor("bad", "int32", (1,), role="out", values="s32")


def nothing(dims: Dims) -> slice:
    """No element counts: working memory of the caller."""
    return slice(0, 0)


def scratch(size: str | Callable[[Dims], int], name: str = "scratch", dtype: str = "uint8") -> Tensor:
    """Working memory; what it holds afterwards means nothing. Bytes stand at a multiple of 16."""
    align, values = (16, "u8") if dtype == "uint8" else (1, "any")
    return Tensor(name, dtype, (size,), role="out", align=align, values=values, valid=nothing)


def pad16(n: int) -> int:
    """``n`` rounded up to whole vectors."""
    return padded(n, 16)


def whole(name: str) -> Callable[[Dims], int]:
    """A dimension rounded up to whole vectors."""
    return lambda dims: pad16(dims[name])


def gap_stride(width: str, gap: str, step: int = 1) -> Callable[[Dims], int]:
    """A stride: ``width`` elements (whole vectors for step 16) and ``gap`` steps more."""
    return lambda dims: padded(dims[width], step) + step * dims[gap]


def scalar(name: str, dtype: str = "int32") -> Scalar:
    """A scalar that is the dimension of its name."""
    return Scalar(name, dtype, name)


def floats(
    name: str, rows: str, stride: str, width: str, role: Any = "in", values: str = "moderate"
) -> Tensor:
    """float32 rows with gaps between them."""
    return Tensor(name, "float32", (extent(rows, stride, width),), role=role, values=values)


def vector(name: str, size: str | int, values: str = "moderate", role: Any = "in") -> Tensor:
    """A float32 vector."""
    return Tensor(name, "float32", (size,), role=role, values=values)


def zero_padded(rows: str, stride: str, used: str, width: str) -> Callable[[Dims, Any, Array], None]:
    """A fill: zeros from column ``used`` to ``width`` of every row; gaps to the stride stay arbitrary."""

    def fill(dims: Dims, rng: np.random.Generator, array: Array) -> None:
        flat = array.reshape(-1)
        for r in range(dims[rows]):
            flat[r * dims[stride] + dims[used] : r * dims[stride] + dims[width]] = 0

    return fill


def codes(name: str, rows: str, stride: str, used: str, width: str) -> Tensor:
    """int8 rows at 16-byte boundaries, zero-padded to whole vectors."""
    fill = zero_padded(rows, stride, used, width)
    return Tensor(name, "int8", (extent(rows, stride, width),), align=16, values="s8_full", fill=fill)


def table_fill(read: Callable[[], F32Array]) -> Callable[[Dims, Any, Array], None]:
    """A fill that writes a constant table."""

    def fill(dims: Dims, rng: np.random.Generator, array: Array) -> None:
        table = read()
        array.flat[:] = table[: array.size]

    return fill
