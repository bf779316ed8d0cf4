"""Mirrors and specs of planted.c, and the reasons that explain each fault."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from emu.diagnose.requantize import double_rounding
from emu.kernels.spec import Dim, Kernel, Param, Scalar, Tensor

N = Dim("n", 0, 40, special=(1, 2, 3, 4, 5))
COUNT = Scalar("n", "int32", "n")
QUARTERS = "[-640,640]"


@dataclass(frozen=True)
class Example:
    """A fault; ``reasons``: names of the reasons that may be told as proved (all that are, must be in it)."""

    kernel: Kernel
    reasons: tuple[str, ...]


def _kernel(symbol: str, params: tuple[Param, ...], mirror: Callable[..., Any], *dims: Dim) -> Kernel:
    return Kernel(symbol, params, mirror, dims=dims or (N,))


def _x(dtype: str = "int32", size: Any = "n", name: str = "x", values: str = "any", **more: Any) -> Tensor:
    return Tensor(name, dtype, (size,) if not isinstance(size, tuple) else size, values=values, **more)


def _y(dtype: str = "int32", size: Any = "n") -> Tensor:
    return Tensor("y", dtype, (size,), role="out")


def quarters(x, y, n):
    y[:] = np.clip(np.rint(x * 0.25), -127, 127)


def clamped(x, y, n):
    y[:] = np.clip(x, -127, 127)


def clamped_128(x, y, n):
    y[:] = np.clip(x, -128, 127)


def requantize(acc, mult, shift):
    """The mirror's own function, which the diagnosis has to recognize."""
    return np.array(
        [double_rounding(int(a), int(mult), int(np.min(shift))) for a in np.atleast_1d(acc)], np.int64
    )


def requantized(acc, mult, shift, y, n):
    y[:] = requantize(acc, mult, -shift)


def dot(x, w, y, n):
    total = np.int32(0)
    for i in range(n):
        total = np.int32(total + np.int32(x[i]) * np.int32(w[i]))
    y[0] = total


def products(x, w, y, n):
    y[:] = np.clip(x.astype(np.int64) * w, -(2**31), 2**31 - 1)


def dot_nibbles(x, w, y, n):
    low, high = (w & 15).astype(np.int32), (w >> 4).astype(np.int32)
    codes = np.stack(((low ^ 8) - 8, (high ^ 8) - 8), 1).reshape(-1)
    y[0] = x.astype(np.int32) @ codes


def dot_codes(x, w, y, n):
    codes = np.stack([(w >> 2 * k & 3).astype(np.int32) - 1 for k in range(4)], 1).reshape(-1)
    y[0] = x.astype(np.int32) @ codes


def scaled(x, scale, y, n):
    y[:] = x.astype(np.float32) * scale


def row_sums(x, x_stride, rows, cols, y):
    for r in range(rows):
        row = x[r * x_stride : r * x_stride + cols].astype(np.int32)
        y[r] = row @ np.arange(1, cols + 1, dtype=np.int32)


def product(w, x, y, rows, cols):
    y[:] = w.reshape(rows, cols).astype(np.int32) @ x.astype(np.int32)


def grouped(sums, scale, y, rows, groups):
    for r in range(rows):
        total = np.float32(0)
        for g in range(groups):
            total = total + np.float32(sums[r * groups + g]) * scale[r * groups + g]
        y[r] = total


def summed(x, n, y):
    y[0] = x[:n].astype(np.int32).sum()


def copied(x, n, y):
    y[:] = x


def block(x, y):
    y[:] = x


def positive(x, y, n):
    y[:] = np.where(np.isnan(x) | (x > 0), x, np.float32(0))


def multiplied_and_added(a, b, c, y, n):
    y[:] = a * b + c


def identity(x, y, n):
    y[:] = x


def third(x, y, n):
    y[:] = x * np.float32(1 / 3)


_QUARTERS = (_x(values=QUARTERS), _y("int8"), COUNT)
_WIDE = (_x(values="[-300,300]"), _y("int8"), COUNT)
_DOT = (_x("int8", values="s8_full"), _x("int8", name="w", values="s8_full"), _y(size=1), COUNT)
_LONG = Dim("n", 0, 300, special=(1, 2, 3, 64))
_ROWS, _COLS = Dim("rows", 1, 6), Dim("cols", 1, 20)
_STRIDE = {"x_stride": lambda d: d["cols"] + d["gap"], "extent": lambda d: d["rows"] * (d["cols"] + d["gap"])}


def limited(x, w, n, offset, lowest, highest, work, y):
    y[:] = np.clip((x + np.int64(offset)) * w >> 3, lowest, highest)


EXAMPLES: tuple[Example, ...] = (
    Example(
        _kernel("half_away", _QUARTERS, quarters), ("rounding, half away", "rounding, half away in float32")
    ),
    Example(_kernel("half_up", _QUARTERS, quarters), ("rounding, half up", "rounding, half up in float32")),
    Example(_kernel("truncating", _QUARTERS, quarters), ("rounding, truncation",)),
    Example(_kernel("clamp_128", _WIDE, clamped), ("clamp -128",)),
    Example(_kernel("clamp_127", _WIDE, clamped_128), ("clamp -127",)),
    Example(
        _kernel(
            "requant_once",
            (
                _x(name="acc", values="[-2000000,2000000]"),
                Scalar("mult", "int32", values="[0x40000000,0x7fffffff]"),
                Scalar("shift", "int32", values="[1,9]"),
                _y(),
                COUNT,
            ),
            requantized,
        ),
        ("requantization, single rounding",),
    ),
    Example(_kernel("acc16", _DOT, dot, _LONG), ("accumulator of 16 bits", "read-out of 16 bits")),
    Example(_kernel("sat16", _DOT, dot, _LONG), ("accumulator saturates at 16 bits",)),
    Example(_kernel("low32", (_x(), _x(name="w"), _y(), COUNT), products), ("read-out of 32 bits",)),
    Example(
        _kernel(
            "nibbles",
            (_x("int8", lambda d: 2 * d["n"]), _x("uint8", name="w"), _y(size=1), COUNT),
            dot_nibbles,
        ),
        ("nibble order",),
    ),
    Example(
        _kernel(
            "codes", (_x("int8", lambda d: 4 * d["n"]), _x("uint8", name="w"), _y(size=1), COUNT), dot_codes
        ),
        ("2-bit order",),
    ),
    Example(
        _kernel(
            "next_scale",
            (_x(), _x("float32", name="scale", values="moderate"), _y("float32"), COUNT),
            scaled,
        ),
        ("scale of another row or group",),
    ),
    Example(
        Kernel(
            "stride_lost",
            (
                _x("int8", "extent"),
                Scalar("x_stride", "int32", "x_stride"),
                Scalar("rows", "int32", "rows"),
                Scalar("cols", "int32", "cols"),
                _y(size="rows"),
            ),
            row_sums,
            dims=(_ROWS, _COLS, Dim("gap", 0, 9)),
            derived=_STRIDE,
        ),
        ("row stride",),
    ),
    Example(
        Kernel(
            "transposed",
            (
                _x("int8", ("rows", "cols"), name="w"),
                _x("int8", "cols"),
                _y(size="rows"),
                Scalar("rows", "int32", "rows"),
                Scalar("cols", "int32", "cols"),
            ),
            product,
            dims=(_ROWS, _COLS),
        ),
        ("transposed operand",),
    ),
    Example(
        Kernel(
            "one_group_less",
            (
                _x("int32", ("rows", "groups"), name="sums", values="[-10000,10000]"),
                _x("float32", ("rows", "groups"), name="scale", values="moderate"),
                _y("float32", size="rows"),
                Scalar("rows", "int32", "rows"),
                Scalar("groups", "int32", "groups"),
            ),
            grouped,
            dims=(_ROWS, Dim("groups", 2, 8)),
        ),
        ("off-by-one group",),
    ),
    Example(
        Kernel(
            "reads_padding",
            (_x("int8", "padded"), COUNT, _y(size=1)),
            summed,
            dims=(N,),
            derived={"padded": lambda d: (d["n"] + 3) & ~3},
        ),
        ("stale padding",),
    ),
    Example(_kernel("reads_behind", (_x("int8"), COUNT, _y(size=1)), summed), ("outside of the buffers",)),
    Example(_kernel("never_set", (_x(), COUNT, _y()), copied), ("use of something that was never set",)),
    Example(
        Kernel("misaligned", (_x("int8", 16), _y("int8", 16)), block),
        ("misaligned vector access", "outside of the buffers"),
    ),
    Example(_kernel("nan_lost", (_x("float32"), _y("float32"), COUNT), positive), ("NaN handling",)),
    Example(
        _kernel(
            "contracted",
            (*(_x("float32", name=name, values="moderate") for name in "abc"), _y("float32"), COUNT),
            multiplied_and_added,
        ),
        ("contraction",),
    ),
)

UNRELATED: tuple[Kernel, ...] = (
    _kernel(
        "between_limits",
        (
            *(_x("int8", name=name) for name in "xw"),
            COUNT,
            Scalar("offset", "int32", values="[-127,128]"),
            Scalar("lowest", "int32", values="[-128,0]"),
            Scalar("highest", "int32", values="[1,127]"),
            Tensor("work", "int32", ("n",), role="out", valid=lambda dims: slice(0, 0)),
            _y("int8"),
        ),
        limited,
    ),
    _kernel("one_value", (_x(values="[-100,100]"), _y("int8"), COUNT), identity),
    _kernel("every_seventh", _DOT, dot, _LONG),
    _kernel("wrong_constant", (_x("float32", values="moderate"), _y("float32"), COUNT), third),
    _kernel("last_left_out", _DOT, dot, _LONG),
)
