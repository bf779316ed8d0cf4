"""3x3 convolutions over int8 pictures: to int8, with a residual in place, to float32."""

from __future__ import annotations

from typing import Any

import numpy as np

from emu.kernels.dot_checks import BAD_ARGUMENT, MISALIGNED, OK, TOO_MANY_COLUMNS, misaligned
from emu.kernels.layer_cases import codes, pad16, scalar, scratch, vector
from emu.kernels.shapes import alike, below_zero
from emu.kernels.spec import Dim, Fault, Param, Scalar, Tensor, kernel
from emu.numerics.constants import ONE
from emu.numerics.jit import jit
from emu.numerics.quantize import quantize_clamped
from emu.numerics.status import MAX_COLUMNS
from emu.numerics.types import Count, F32Array, S8Array, U8Array

_DIMS = (
    Dim("height", 1, 5, special=(1, 2, 3)),
    Dim("width", 1, 6, special=(1, 2, 3)),
    Dim("channels", 1, 34, special=(1, 3, 4, 16, 32)),
    Dim("up", 0, 1),
    Dim("relu", 0, 1),
    Dim("outs", 1, 5, special=(1, 3)),
    Dim("w_gap", 0, 2),
    Dim("from", 0, 9),
    Dim("few", 0, 3),
)
_DERIVED = {
    "out_height": lambda d: d["height"] << d["up"],
    "out_width": lambda d: d["width"] << d["up"],
    "columns": lambda d: 9 * d["channels"],
    "padded": lambda d: pad16(9 * d["channels"]),
    "w_stride": lambda d: pad16(9 * d["channels"]) + 16 * d["w_gap"],
    "first": lambda d: d["from"] % d["out_height"] if d["few"] else 0,
    "rows": lambda d: min(d["few"] - 1, d["out_height"] - d["first"]) if d["few"] else d["out_height"],
    "pixels": lambda d: d["height"] * d["width"] * d["channels"],
    "picture": lambda d: d["out_height"] * d["out_width"] * d["outs"],
}
_TOO_WIDE = MAX_COLUMNS // 9 + 1
_BASE: dict[str, Any] = {
    "dims": _DIMS,
    "derived": _DERIVED,
    "returns": "int32",
    "source": "numerics 10",
    "faults": (
        Fault("no height", 1, {"height": 0}),
        Fault("no width", 1, {"width": 0}),
        Fault("no channels", 1, {"channels": 0}),
        Fault("no outputs", 1, {"outs": 0}),
        Fault("up 2", 1, {"up": 2}),
        Fault("up -1", 1, {"up": below_zero("up")}),
        Fault("relu 2", 1, {"relu": 2}),
        Fault("negative rows", 1, {"rows": below_zero("rows")}),
        Fault("no rows", 0, {"rows": 0}),
        Fault("no channels at a misaligned w", 1, {"channels": 0}, ("w",)),
        Fault("negative first", 1, {"first": below_zero("first")}),
        Fault("rows behind the picture", 1, {"rows": lambda d: d["out_height"] - d["first"] + 1}),
        Fault("w_stride below 9 channels", 1, {"w_stride": lambda d: 9 * d["channels"] - 1}),
        Fault("too many columns", 2, {"channels": _TOO_WIDE, "w_stride": pad16(9 * _TOO_WIDE)}),
        Fault("w misaligned", 3, misalign=("w",)),
        Fault("scratch misaligned", 3, misalign=("scratch",)),
        Fault("w and w_stride off alike", 3, alike("w_stride"), ("w",)),
        Fault("w_stride not a multiple of 16", 3, {"w_stride": lambda d: d["w_stride"] + 1}),
    ),
}
_SCALE = "(0,16]"


def _fill_bias(dims: Any, rng: np.random.Generator, array: Any) -> None:
    """Now and then one that is not finite: a NaN becomes -127, an infinity the end of the range."""
    if array.size and rng.random() < 0.15:
        array.flat[rng.integers(array.size)] = rng.choice(np.array([np.nan, np.inf, -np.inf], np.float32))


_PARAMS: tuple[Param, ...] = (
    Tensor("x", "int8", ("pixels",), values="s8_full"),
    *(scalar(name) for name in ("height", "width", "channels", "up", "relu")),
    Scalar("s_in", "float32", values=_SCALE),
    codes("w", "outs", "w_stride", "columns", "padded"),
    scalar("w_stride"),
    vector("sw", "outs"),
    Tensor("b", "float32", ("outs",), values="moderate", fill=_fill_bias),
    scalar("outs"),
)
_PART: tuple[Param, ...] = (
    Scalar("first", "int32", "first"),
    Scalar("rows", "int32", "rows"),
    scratch(lambda d: d["out_width"] * (pad16(9 * d["channels"]) + 4 * d["outs"] + 12)),
)


@jit
def _check(
    height: np.int32,
    width: np.int32,
    channels: np.int32,
    up: np.int32,
    relu: np.int32,
    w: S8Array,
    w_stride: np.int32,
    outs: np.int32,
    first: np.int32,
    rows: np.int32,
    scratch: U8Array,
) -> int:
    if height < 1 or width < 1 or channels < 1 or outs < 1 or (up & ~1) != 0 or (relu & ~1) != 0:
        return BAD_ARGUMENT
    if rows < 0 or first < 0 or first > (height << up) - rows or w_stride < 9 * channels:
        return BAD_ARGUMENT
    if 9 * channels > MAX_COLUMNS:
        return TOO_MANY_COLUMNS
    return MISALIGNED if misaligned(scratch) or misaligned(w) or w_stride & 15 != 0 else OK


@jit
def _value(
    x: S8Array,
    size: tuple[Count, Count, Count, Count],
    relu: bool,
    s_in: np.float32,
    w: S8Array,
    factor: tuple[np.float32, np.float32],
    at: tuple[Count, Count],
) -> np.float32:
    """One output: size = (height, width, channels, up) of x, factor = (scale, bias), at = (row, column)."""
    height, width, channels, up = size
    total = np.int32(0)
    for ky in range(3):
        for kx in range(3):
            row, col = at[0] + ky - 1, at[1] + kx - 1
            if row < 0 or col < 0 or row >= height << up or col >= width << up:
                continue
            pixel = ((row >> up) * width + (col >> up)) * channels
            for c in range(channels):
                value = np.int32(x[pixel + c])
                value = np.int32(0) if relu and value < 0 else value
                total = np.int32(total + value * np.int32(w[(ky * 3 + kx) * channels + c]))
    return np.float32(total) * (s_in * factor[0]) + factor[1]


@kernel(
    "conv3x3_s8_c",
    *_PARAMS,
    Scalar("s_out", "float32", values=_SCALE),
    Tensor("y", "int8", ("picture",), role="out", values="s8_full"),
    *_PART,
    **_BASE,
)
@kernel(
    "conv3x3_s8",
    *_PARAMS,
    Scalar("s_out", "float32", values=_SCALE),
    Tensor("y", "int8", ("picture",), role="out", values="s8_full"),
    *_PART,
    **_BASE,
)
@jit
def conv3x3_s8(
    x: S8Array,
    height: np.int32,
    width: np.int32,
    channels: np.int32,
    up: np.int32,
    relu: np.int32,
    s_in: np.float32,
    w: S8Array,
    w_stride: np.int32,
    sw: F32Array,
    b: F32Array,
    outs: np.int32,
    s_out: np.float32,
    y: S8Array,
    first: np.int32,
    rows: np.int32,
    scratch: U8Array,
) -> int:
    """Rows first.. of y int8 [H][W][outs] = quantize_static_s8(conv, s_out) (section 10).

    x int8 [height][width][channels], read up times two and through ReLU; w int8 [outs][w_stride], rows of
    [3][3][channels]. Returns 0, 1 bad sizes, 2 too many columns, 3 misaligned.
    """
    status = _check(height, width, channels, up, relu, w, w_stride, outs, first, rows, scratch)
    if status != OK:
        return status
    size, inverse, wide = (height, width, channels, up), ONE / np.float32(s_out), width << up
    for row in range(first, first + rows):
        for col in range(wide):
            for o in range(outs):
                factor = (sw[o], b[o])
                v = _value(x, size, relu != 0, np.float32(s_in), w[o * w_stride :], factor, (row, col))
                y[(row * wide + col) * outs + o] = quantize_clamped(v, inverse)
    return OK


conv3x3_s8_c = conv3x3_s8

_ADD_PARAMS: tuple[Param, ...] = (
    *_PARAMS,
    Scalar("s_y", "float32", values=_SCALE),
    Scalar("s_out", "float32", values=_SCALE),
    Tensor("y", "int8", ("picture",), role="inout", values="s8_full"),
    *_PART,
)


@kernel("conv3x3_add_s8_c", *_ADD_PARAMS, **_BASE)
@kernel("conv3x3_add_s8", *_ADD_PARAMS, **_BASE)
@jit
def conv3x3_add_s8(
    x: S8Array,
    height: np.int32,
    width: np.int32,
    channels: np.int32,
    up: np.int32,
    relu: np.int32,
    s_in: np.float32,
    w: S8Array,
    w_stride: np.int32,
    sw: F32Array,
    b: F32Array,
    outs: np.int32,
    s_y: np.float32,
    s_out: np.float32,
    y: S8Array,
    first: np.int32,
    rows: np.int32,
    scratch: U8Array,
) -> int:
    """y = quantize_static_s8(conv + (float)y * s_y, s_out) in place; rules of conv3x3_s8 (section 10)."""
    status = _check(height, width, channels, up, relu, w, w_stride, outs, first, rows, scratch)
    if status != OK:
        return status
    size, inverse, wide = (height, width, channels, up), ONE / np.float32(s_out), width << up
    for row in range(first, first + rows):
        for col in range(wide):
            for o in range(outs):
                factor = (sw[o], b[o])
                v = _value(x, size, relu != 0, np.float32(s_in), w[o * w_stride :], factor, (row, col))
                i = (row * wide + col) * outs + o
                y[i] = quantize_clamped(v + np.float32(y[i]) * np.float32(s_y), inverse)
    return OK


conv3x3_add_s8_c = conv3x3_add_s8

_F32_PARAMS: tuple[Param, ...] = (*_PARAMS, vector("y", "picture", role="out"), *_PART)


@kernel("conv3x3_f32_c", *_F32_PARAMS, **_BASE)
@kernel("conv3x3_f32", *_F32_PARAMS, **_BASE)
@jit
def conv3x3_f32(
    x: S8Array,
    height: np.int32,
    width: np.int32,
    channels: np.int32,
    up: np.int32,
    relu: np.int32,
    s_in: np.float32,
    w: S8Array,
    w_stride: np.int32,
    sw: F32Array,
    b: F32Array,
    outs: np.int32,
    y: F32Array,
    first: np.int32,
    rows: np.int32,
    scratch: U8Array,
) -> int:
    """Rows first.. of y float32 [H][W][outs] = conv; rules of conv3x3_s8 (section 10)."""
    status = _check(height, width, channels, up, relu, w, w_stride, outs, first, rows, scratch)
    if status != OK:
        return status
    size, wide = (height, width, channels, up), width << up
    for row in range(first, first + rows):
        for col in range(wide):
            for o in range(outs):
                factor = (sw[o], b[o])
                v = _value(x, size, relu != 0, np.float32(s_in), w[o * w_stride :], factor, (row, col))
                y[(row * wide + col) * outs + o] = v
    return OK


conv3x3_f32_c = conv3x3_f32
