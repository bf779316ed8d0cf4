"""Calls that a kernel must refuse: the status, and every buffer as it was."""

from __future__ import annotations

import numpy as np
import pytest

from emu.kernels.arrays import place
from tests.kernels.calls import KERNELS, draw

FAULTS = [
    pytest.param(symbol, fault, id=f"{symbol}-{fault.name}")
    for symbol, kernel in KERNELS.items()
    for fault in kernel.faults
]


@pytest.mark.parametrize(("symbol", "fault"), FAULTS)
def test_refused_calls_change_nothing(symbol, fault):
    for seed in range(25):
        call = draw(symbol, seed, fault)
        assert call.run() == fault.status
        assert all(buffer.untouched() for buffer in call.buffers().values())


@pytest.mark.parametrize("symbol", ["dot_rows_s8", "gemm_s8", "dot_rows_ternary", "dot_groups_int4"])
@pytest.mark.parametrize("name", ["x", "w"])
def test_every_offset_but_0_is_misaligned(symbol, name):
    call = draw(symbol, 3)
    arguments = {n: call.array(n) if n in call.buffers() else v for n, v in call.values.items()}
    for offset in range(16):
        placed = {**arguments, name: place(arguments[name], offset)}
        assert call.kernel.mirror(*placed.values()) == (0 if offset == 0 else 3)


@pytest.mark.parametrize("symbol", ["dot_rows_ternary_c", "dot_groups_int4_c"])
def test_plain_twins_take_every_offset(symbol):
    call = draw(symbol, 3)
    arguments = {n: call.array(n) if n in call.buffers() else v for n, v in call.values.items()}
    for x_offset in range(16):
        placed = {
            **arguments,
            "x": place(arguments["x"], x_offset),
            "w": place(arguments["w"], 15 - x_offset),
        }
        assert call.kernel.mirror(*placed.values()) == 0


def test_the_column_limit_itself_is_allowed():
    from emu.numerics.status import MAX_COLUMNS

    x, acc = place(np.full(MAX_COLUMNS + 8, 127, np.int8), 0), np.zeros(1, np.int32)
    x[MAX_COLUMNS:] = 0
    args = [np.int32(v) for v in (x.size, 1, MAX_COLUMNS, 1)]
    mirror = KERNELS["dot_rows_s8"].mirror
    assert mirror(x, args[0], args[1], x, args[2], acc, args[3]) == 0
    assert acc[0] == MAX_COLUMNS * 127 * 127
    assert mirror(x, args[0], args[1], x, np.int32(MAX_COLUMNS + 1), acc, args[3]) == 2
    x[1::2] *= -1
    w = place(np.abs(x), 0)
    assert mirror(x, args[0], args[1], w, args[2], acc, args[3]) == 0
    assert acc[0] == 0


def test_place_gives_the_asked_address():
    source = np.arange(10, dtype=np.int16)
    for offset in range(0, 16, 2):
        copy = place(source, offset)
        assert copy.ctypes.data % 16 == offset
        assert copy.tolist() == source.tolist()
    assert place(source[:0], 6).size == 0


@pytest.mark.parametrize("symbol", ["dot_rows_s8", "gemm_s8", "dot_rows_ternary", "dot_groups_int4"])
def test_sizes_and_alignment_are_checked_when_nothing_would_be_read(symbol):
    """With cols = 0 a wrong pointer or stride is still refused; without one every sum is 0 and stored."""
    call = draw(symbol, 1, cols=0, rows=3, outs=2)
    arguments = {n: call.array(n).copy() if n in call.buffers() else v for n, v in call.values.items()}
    for name in ("x", "w"):
        assert call.kernel.mirror(*{**arguments, name: place(arguments[name], 5)}.values()) == 3
    for name in {"x_stride", "w_stride"} & set(arguments):
        assert call.kernel.mirror(*{**arguments, name: np.int32(-16)}.values()) == 1
        assert call.kernel.mirror(*{**arguments, name: np.int32(8)}.values()) == 3
    placed = {n: place(v, 0) if n in ("x", "w") else v for n, v in arguments.items()}
    before = arguments["acc"].copy()
    assert call.kernel.mirror(*placed.values()) == 0
    changed = arguments["acc"] != before
    assert (arguments["acc"][changed] == 0).all()
    stored = {"dot_groups_int4": 0, "gemm_s8": 6}.get(symbol, 3)
    assert changed.sum() == stored
