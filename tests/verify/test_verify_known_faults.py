"""Faults that firmware of this kind really had, planted one by one: the default examples must find each.

Every one of them once hid from some test: behind constant blocks, a single row, lengths that are multiples of
the block, moderate values, random signs. The letters and numbers are those of the project's list of known
faults.
"""

from __future__ import annotations

import numpy as np
import pytest
from faulty import KERNELS, after, first_block_again, instead, runner, stride_off

from emu.verify.strategies import cases


def codes_of(w, order=(0, 2, 4, 6)):
    return np.stack([w >> s & 3 for s in order], axis=1).reshape(-1).astype(np.int64) - 1


def nibbles(w):
    return np.stack([w & 15, w >> 4], axis=1).reshape(-1).astype(np.int64)


def rows_of(x, stride, rows, cols):
    return [x[r * stride : r * stride + cols].astype(np.int64) for r in range(rows)]


def b009_interleaved(x, xs, rows, w, cols, acc, stride):
    """Element j of quarter k at bits 6-2k of byte j, instead of four neighbours in a byte."""
    n, xs = int(cols), int(xs)
    groups = w.reshape(-1, 16) if w.size else w.reshape(0, 16)
    turned = np.stack([groups >> s & 3 for s in (6, 4, 2, 0)], axis=1).reshape(-1)[:n].astype(np.int64) - 1
    for r, row in enumerate(rows_of(x, xs, int(rows), n)):
        acc[r * stride] = (row * turned[: row.size]).sum()


def b016_tail_group(x, w, cols, group, acc):
    """Only complete groups are summed; the last one is left as it was before the call."""
    if int(cols) % int(group):
        acc[-1] = 0


def b017_excess_seven(x, w, cols, group, acc):
    """Codes decoded as nibble - 7 instead of two's complement."""
    n, g = int(cols), int(group)
    products = x[:n].astype(np.int64) * (nibbles(w)[:n] - 7)
    for i in range(acc.size):
        acc[i] = products[i * g : (i + 1) * g].sum()


def b037_narrow_lanes(x, xs, rows, w, cols, acc, stride):
    """Sixteen partial sums in int16, widened only at the end of the row."""
    n = int(cols)
    for r, row in enumerate(rows_of(x, int(xs), int(rows), n)):
        lanes = np.zeros(-(-n // 16) * 16, np.int64)
        lanes[:n] = row * codes_of(w)[:n]
        acc[r * stride] = lanes.reshape(-1, 16).sum(axis=0).astype(np.int16).astype(np.int64).sum()


def b054_first_element(x, xs, rows, w, cols, acc, stride):
    """The scalar path for short rows adds the first element instead of multiplying it."""
    n = int(cols)
    if 0 < n < 16:
        for r, row in enumerate(rows_of(x, int(xs), int(rows), n)):
            acc[r * stride] += int(row[0]) + int(w[0]) - int(row[0]) * int(w[0])


def b042_unsigned_char(x, xs, rows, w, cols, acc, stride):
    """Plain char is unsigned on this chip: negative weights become 128..255."""
    n = int(cols)
    for r, row in enumerate(rows_of(x, int(xs), int(rows), n)):
        acc[r * stride] = np.int64((row * w.view(np.uint8)[:n]).sum()).astype(np.int32)


def b033_full_range(x, q, n, s):
    with np.errstate(all="ignore"):
        t = x * (np.float32(1) / s)
        q[t < np.float32(-127.5)] = -128


def b034_half_away(x, y, n):
    with np.errstate(all="ignore"):
        small = np.abs(x) < 4e6
        v = x[small].astype(np.float64)
        y[small] = (np.sign(v) * np.floor(np.abs(v) + 0.5)).astype(np.int32)


def b034_floor_in_float(x, y, n):
    with np.errstate(all="ignore"):
        small = np.abs(x) < 2e6
        y[small] = np.where(
            np.abs(x[small]) == np.float32(0.49999997), np.floor(x[small] + np.float32(0.5)), y[small]
        ).astype(np.int32)


def b079_reciprocal(a, b, y, n):
    with np.errstate(all="ignore"):
        y[:] = a * (np.float32(1) / b)


def b015_fused(x, y, n):
    """One product and sum of exp with a single rounding."""
    with np.errstate(all="ignore"):
        inside = (x >= -87) & (x <= 88) & (x != 0)
        y.view(np.int32)[inside & (x.view(np.int32) & 7 == 5)] += 1


FAULTS = {
    "B001 loop end on the last load": ("dot_rows_s8", after("dot_rows_s8", first_block_again)),
    "B009 ternary packing interleaved": ("dot_rows_ternary", after("dot_rows_ternary", b009_interleaved)),
    "B015 fused multiply-add": ("exp_array", after("exp_array", b015_fused)),
    "B016 last group skipped": ("dot_groups_int4", after("dot_groups_int4", b016_tail_group)),
    "B017 nibble minus seven": ("dot_groups_int4", after("dot_groups_int4", b017_excess_seven)),
    "B019 row stride": ("dot_rows_s8", after("dot_rows_s8", stride_off)),
    "B033 clamp to -128": ("quantize_static_s8", after("quantize_static_s8", b033_full_range)),
    "B034 half away from zero": ("rne_array", after("rne_array", b034_half_away)),
    "B034 floor of x + 0.5 in float": ("rne_array", after("rne_array", b034_floor_in_float)),
    "B037 int16 partial sums": ("dot_rows_ternary", after("dot_rows_ternary", b037_narrow_lanes)),
    "B042 unsigned char": ("dot_rows_s8_c", after("dot_rows_s8_c", b042_unsigned_char)),
    "B054 first element of short rows": ("dot_rows_s8_c", after("dot_rows_s8_c", b054_first_element)),
    "B079 reciprocal instead of division": ("div_array", after("div_array", b079_reciprocal)),
}


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("name", FAULTS)
def test_known_fault_is_found(name, seed):
    symbol, mirror = FAULTS[name]
    kernel = KERNELS[symbol]
    piece = runner({symbol: mirror}, seed=seed).run(kernel, 0, cases(kernel, seed, 0, 200))
    assert not piece.error
    assert piece.failure is not None, f"{name} was not found"
    if "B037" not in name:
        assert piece.failure.weight <= 4


@pytest.mark.parametrize(("symbol", "value"), [("dot_rows_s8", 96), ("dot_rows_s8_c", 96)])
def test_b001_small_case_gives_the_right_value(symbol, value):
    """x = 1s, 2s, 3s in three blocks, y all ones: 96, never 48 (the first block three times)."""
    kernel = KERNELS[symbol]
    x = np.repeat(np.array([1, 2, 3], np.int8), 16)
    from emu.kernels.arrays import place

    acc = np.zeros(1, np.int32)
    args = (
        place(x, 0),
        np.int32(48),
        np.int32(1),
        place(np.ones(48, np.int8), 0),
        np.int32(48),
        acc,
        np.int32(1),
    )
    assert kernel.mirror(*args) == 0
    assert acc[0] == value


def test_nibbles_swapped_is_found_too():
    kernel = KERNELS["dot_groups_int4_c"]
    mirror = instead(
        "dot_groups_int4_c", lambda x, w, c, g, a: (x, ((w << 4) | (w >> 4)).astype(np.uint8), c, g, a)
    )
    assert runner({kernel.symbol: mirror}).run(kernel, 0, cases(kernel, 0, 0, 200)).failure is not None
