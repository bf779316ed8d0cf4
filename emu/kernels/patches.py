"""A picture as tokens of 2x2 pixels, and back."""

from __future__ import annotations

import numpy as np

from emu.kernels.layer_cases import floats, scalar
from emu.kernels.spec import Dim, Scalar, Tensor, kernel
from emu.numerics.jit import jit
from emu.numerics.types import Count, F32Array

_DIMS = (
    Dim("height", 0, 10, multiple=2),
    Dim("width", 0, 10, multiple=2),
    Dim("channels", 0, 5, special=(1, 4)),
    Dim("gap", 0, 5),
)
_DERIVED = {
    "tokens": lambda d: d["height"] * d["width"] // 4,
    "values": lambda d: 4 * d["channels"],
    "stride": lambda d: 4 * d["channels"] + d["gap"],
    "pixels": lambda d: d["height"] * d["width"] * d["channels"],
}
_SIZES = (scalar("height"), scalar("width"), scalar("channels"))


@jit
def _place(row: Count, col: Count, width: Count, channels: Count, stride: Count) -> Count:
    return ((width // 2) * (row // 2) + col // 2) * stride + (2 * (row % 2) + col % 2) * channels


@kernel(
    "patch",
    Tensor("z", "float32", ("pixels",), values="any"),
    *_SIZES,
    floats("y", "tokens", "stride", "values", role="out"),
    Scalar("y_stride", "int32", "stride"),
    dims=_DIMS,
    derived=_DERIVED,
    source="numerics 10",
)
@jit
def patch(
    z: F32Array, height: np.int32, width: np.int32, channels: np.int32, y: F32Array, y_stride: np.int32
) -> None:
    """Tokens y of the picture z [height][width][channels] (section 10; models.md section 1)."""
    for row in range(height):
        for col in range(width):
            for c in range(channels):
                y[_place(row, col, width, channels, y_stride) + c] = z[(row * width + col) * channels + c]


@kernel(
    "unpatch",
    floats("x", "tokens", "stride", "values", values="any"),
    Scalar("x_stride", "int32", "stride"),
    *_SIZES,
    Tensor("z", "float32", ("pixels",), role="out"),
    dims=_DIMS,
    derived=_DERIVED,
    source="numerics 10",
)
@jit
def unpatch(
    x: F32Array, x_stride: np.int32, height: np.int32, width: np.int32, channels: np.int32, z: F32Array
) -> None:
    """The picture z [height][width][channels] of the tokens x: the inverse of patch (section 10)."""
    for row in range(height):
        for col in range(width):
            for c in range(channels):
                z[(row * width + col) * channels + c] = x[_place(row, col, width, channels, x_stride) + c]
