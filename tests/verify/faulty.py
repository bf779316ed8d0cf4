"""A target that computes with planted faults: what a broken firmware would do, without a firmware."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from emu.kernels import load_all
from emu.kernels.spec import Kernel
from emu.verify.case import Case
from emu.verify.errors import TargetFault
from emu.verify.options import Options
from emu.verify.runner import Runner
from emu.verify.target import CallResult, MirrorTarget

Mirror = Callable[..., Any]
KERNELS: Mapping[str, Kernel] = load_all()


class FaultyTarget(MirrorTarget):
    """Mirrors, some of them replaced by faulty ones. A mirror may raise TargetFault to play a trap."""

    name = "faulty"

    def __init__(self, mirrors: Mapping[str, Mirror]) -> None:
        super().__init__()
        self._mirrors = mirrors
        self.calls = 0

    def call(self, kernel: Kernel, case: Case) -> CallResult:
        self.calls += 1
        mirror = self._mirrors.get(kernel.symbol, kernel.mirror)
        try:
            return super().call(replace(kernel, mirror=mirror), case)
        except Exception as error:
            if isinstance(error.__cause__, TargetFault):
                raise error.__cause__ from None
            raise


def runner(mirrors: Mapping[str, Mirror], **options: Any) -> Runner:
    return Runner(MirrorTarget(), FaultyTarget(mirrors), Options(target="mirror", **options))


def after(symbol: str, change: Callable[..., None]) -> Mirror:
    """The true mirror, then ``change(*arguments)`` on its outputs when the call was accepted."""

    def mirror(*arguments: Any) -> Any:
        status = KERNELS[symbol].mirror(*arguments)
        if not status:
            change(*arguments)
        return status

    return mirror


def instead(symbol: str, change: Callable[..., Any]) -> Mirror:
    """The true mirror called with the arguments that ``change`` makes of the given ones."""

    def mirror(*arguments: Any) -> Any:
        return KERNELS[symbol].mirror(*change(*arguments))

    return mirror


def _dots(x: Any, stride: int, rows: int, w: Any, cols: int) -> Any:
    """Row sums with wrap-around, reading past the row like a wrong kernel would (zeros past the tensor)."""
    padded = np.concatenate([x, np.zeros(abs(stride) + cols + 64, x.dtype)]).astype(np.int64)
    return [
        int((padded[r * stride : r * stride + cols] * w[:cols].astype(np.int64)).sum()) for r in range(rows)
    ]


def _store(acc: Any, acc_stride: int, sums: list[int]) -> None:
    for r, total in enumerate(sums):
        acc[r * acc_stride] = np.int64(total).astype(np.int32)


def stride_off(x: Any, xs: Any, rows: Any, w: Any, cols: Any, acc: Any, stride: Any) -> None:
    _store(acc, stride, _dots(x, int(xs) - 16, int(rows), w, int(cols)))


def tail_skipped(x: Any, xs: Any, rows: Any, w: Any, cols: Any, acc: Any, stride: Any) -> None:
    _store(acc, stride, _dots(x, int(xs), int(rows), w, int(cols) // 16 * 16))


def sign_lost(x: Any, xs: Any, rows: Any, w: Any, cols: Any, acc: Any, stride: Any) -> None:
    _store(acc, stride, _dots(x.view(np.uint8), int(xs), int(rows), w, int(cols)))


def first_block_again(x: Any, xs: Any, rows: Any, w: Any, cols: Any, acc: Any, stride: Any) -> None:
    """Loop end one instruction early: every block of x is multiplied with the first block of w."""
    _store(acc, stride, _dots(x, int(xs), int(rows), np.tile(w[:16], len(w) // 16 + 1), int(cols)))


def not_zeroed(x: Any, xs: Any, rows: Any, w: Any, cols: Any, acc: Any, stride: Any) -> None:
    _store(acc, stride, list(np.cumsum(_dots(x, int(xs), int(rows), w, int(cols)))))


def nibbles_swapped(x: Any, w: Any, cols: Any, group: Any, acc: Any) -> Any:
    return x, ((w << 4) | (w >> 4)).astype(np.uint8), cols, group, acc


def high_bits_first(x: Any, xs: Any, rows: Any, w: Any, cols: Any, acc: Any, stride: Any) -> Any:
    turned = (w & 3) << 6 | (w & 12) << 2 | (w & 48) >> 2 | w >> 6
    return x, xs, rows, turned.astype(np.uint8), cols, acc, stride


def half_up(x: Any, y: Any, n: Any) -> None:
    with np.errstate(all="ignore"):
        small = np.abs(x) < 4e6
        y[small] = np.floor(x[small].astype(np.float64) + 0.5).astype(np.int32)


def minus_128(x: Any, q: Any, n: Any, s: Any) -> None:
    with np.errstate(all="ignore"):
        q[x * (np.float32(1) / s) < np.float32(-127.5)] = -128


def quadrant_swapped(u: Any, sin_u: Any, cos_u: Any, n: Any) -> None:
    there = (u > 0.375) & (u < 0.625)
    sin_u[there], cos_u[there] = cos_u[there], sin_u[there].copy()


def slope_off(x: Any, y: Any, n: Any, value: Any, slope: Any) -> Any:
    return x, y, n, value, np.concatenate([slope[1:], slope[:1]])


def exp_shift(x: Any, y: Any, n: Any) -> None:
    with np.errstate(all="ignore"):
        there = (x >= -87) & (np.abs(x) > 0.35)
        y[there] *= np.float32(2)


def status_forgotten(*arguments: Any) -> int:
    return int(KERNELS["quantize_row_s8"].mirror(*arguments)) and 1


PLANTED: dict[str, tuple[str, Mirror]] = {
    "row stride off by 16": ("dot_rows_s8", after("dot_rows_s8", stride_off)),
    "tail skipped": ("dot_rows_s8", after("dot_rows_s8", tail_skipped)),
    "sign lost": ("dot_rows_s8", after("dot_rows_s8", sign_lost)),
    "loop end early": ("dot_rows_s8", after("dot_rows_s8", first_block_again)),
    "accumulator not zeroed": ("dot_rows_s8", after("dot_rows_s8", not_zeroed)),
    "nibbles swapped": ("dot_groups_int4", instead("dot_groups_int4", nibbles_swapped)),
    "ternary high bits first": ("dot_rows_ternary", instead("dot_rows_ternary", high_bits_first)),
    "round half up": ("rne_array", after("rne_array", half_up)),
    "clamp to -128": ("quantize_static_s8", after("quantize_static_s8", minus_128)),
    "sin and cos swapped": ("sincos_turn_array", after("sincos_turn_array", quadrant_swapped)),
    "gelu slope index": ("gelu_array", instead("gelu_array", slope_off)),
    "exp shift": ("exp_array", after("exp_array", exp_shift)),
    "wrong status": ("quantize_row_s8", status_forgotten),
}
