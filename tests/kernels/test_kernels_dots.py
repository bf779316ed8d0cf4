"""Integer dot products against plain Python sums; strides, gaps, padding, long rows of one sign."""

from __future__ import annotations

import numpy as np
import pytest

from emu.kernels.arrays import place
from emu.numerics.int4 import int4_row_bytes, pack_int4
from emu.numerics.ternary import pack_ternary, ternary_row_bytes
from tests.kernels.calls import KERNELS, Call, draw
from tests.numerics import reference

N32 = np.int32
TERNARY = ["dot_rows_ternary", "dot_rows_ternary_c"]
INT4 = ["dot_groups_int4", "dot_groups_int4_c"]


def row(call: Call, name: str, r: int) -> list[int]:
    stride = call.dims.get(f"{name}_stride", 0)
    return call.array(name)[r * stride : r * stride + call.dims["cols"]].tolist()


def dot(a: list[int], b: list[int]) -> int:
    return sum(p * q for p, q in zip(a, b, strict=True))


def check(call: Call, sums: dict[int, int]) -> None:
    """Run; acc must hold ``sums`` by index and be as before elsewhere."""
    want = call.array("acc").copy()
    for index, value in sums.items():
        want[index] = value
    assert call.run() == 0
    assert call.array("acc").tolist() == want.tolist()


@pytest.mark.parametrize("symbol", ["dot_rows_s8", "dot_rows_s8_c"])
def test_dot_rows_s8(symbol):
    for seed in range(60):
        call = draw(symbol, seed)
        w = row(call, "w", 0)
        stride = call.dims["dot_acc_stride"]
        check(call, {r * stride: dot(row(call, "x", r), w) for r in range(call.dims["rows"])})


@pytest.mark.parametrize("symbol", ["gemm_s8", "gemm_s8_c"])
def test_gemm_s8(symbol):
    for seed in range(60):
        call = draw(symbol, seed)
        stride = call.dims["gemm_acc_stride"]
        sums = {
            r * stride + o: dot(row(call, "x", r), row(call, "w", o))
            for r in range(call.dims["rows"])
            for o in range(call.dims["outs"])
        }
        check(call, sums)


@pytest.mark.parametrize("symbol", TERNARY)
@pytest.mark.parametrize("run", [0, 1, 2])
def test_dot_rows_ternary(symbol, run):
    for seed in range(30):
        call = draw(symbol, seed, run=run)
        w = reference.ternary_codes(call.array("w").tobytes(), call.dims["cols"])
        assert 2 not in w
        stride = call.dims["acc_stride"]
        check(call, {r * stride: dot(row(call, "x", r), w) for r in range(call.dims["rows"])})


@pytest.mark.parametrize("symbol", INT4)
@pytest.mark.parametrize("run", [0, 1, 2])
def test_dot_groups_int4(symbol, run):
    for seed in range(30):
        call = draw(symbol, seed, run=run)
        cols, group = call.dims["cols"], call.dims["group"]
        w, x = reference.int4_codes(call.array("w").tobytes(), cols), row(call, "x", 0)
        starts = range(0, cols, group)
        check(call, {c // group: dot(x[c : c + group], w[c : c + group]) for c in starts})


def test_padding_of_the_specs_is_neutral():
    """The vector kernels read whole blocks: zeros in x, and in w zeros or the code 01."""
    for seed in range(40):
        call = draw("dot_rows_ternary", seed)
        cols, w = call.dims["cols"], call.array("w")
        assert w.size % 16 == 0
        assert not any(reference.ternary_codes(w.tobytes(), 4 * w.size)[cols:])
        call = draw("dot_groups_int4", seed)
        cols, w = call.dims["cols"], call.array("w")
        assert w.size % 16 == 0
        assert not any(reference.int4_codes(w.tobytes(), 2 * w.size)[cols:])
        assert not call.array("x")[cols:].any()
        call = draw("gemm_s8", seed)
        d = call.dims
        for name, rows in (("x", d["rows"]), ("w", d["outs"])):
            for r in range(rows):
                start = r * d[f"{name}_stride"]
                assert not call.array(name)[start + d["cols"] : start + d["padded"]].any()


def run_ternary(symbol: str, x: np.ndarray, codes: np.ndarray) -> list[int]:
    """Rows of x [rows][cols] against one row of codes."""
    rows, cols = x.shape
    w = pack_ternary(codes.reshape(1, -1), ternary_row_bytes(cols, 16)).reshape(-1)
    stride = -(-cols // 16) * 16
    padded = np.zeros((rows, stride), np.int8)
    padded[:, :cols] = x
    acc = np.zeros(rows, np.int32)
    arguments = (place(padded, 0), N32(stride), N32(rows), place(w, 0), N32(cols), acc, N32(1))
    assert KERNELS[symbol].mirror(*arguments) == 0
    return acc.tolist()


def run_int4(symbol: str, x: np.ndarray, w: np.ndarray, group: int) -> list[int]:
    """Group sums of x [cols] against one packed row w."""
    padded = np.zeros(-(-x.size // 16) * 16, np.int8)
    padded[: x.size] = x
    acc = np.zeros(-(-x.size // group), np.int32)
    assert KERNELS[symbol].mirror(place(padded, 0), place(w, 0), N32(x.size), N32(group), acc) == 0
    return acc.tolist()


@pytest.mark.parametrize("symbol", TERNARY)
def test_b009_each_weight_meets_its_own_activation(symbol):
    """B009: an unpacker for another interleaving gives finite but scrambled sums."""
    for cols in (1, 4, 63, 64, 65, 128, 131):
        x = (np.arange(2 * cols).reshape(2, cols) % 113 + 1).astype(np.int8)
        for at in range(cols):
            codes = np.zeros(cols, np.int8)
            codes[at] = 1 if at % 2 else -1
            assert run_ternary(symbol, x, codes) == [int(v) * codes[at] for v in x[:, at]]


def test_b009_the_small_case():
    """128 weights, only w[32] = +1, activations 0..127: 32; packed in sequence, low bits first."""
    codes = np.zeros((1, 128), np.int8)
    codes[0, 32] = 1
    packed = pack_ternary(codes)[0].tolist()
    assert packed == [0x55] * 8 + [0x56] + [0x55] * 23
    x = np.arange(128, dtype=np.int8).reshape(1, -1)
    assert [run_ternary(s, x, codes[0]) for s in TERNARY] == [[32], [32]]


@pytest.mark.parametrize("symbol", TERNARY)
@pytest.mark.parametrize("code", [1, -1])
@pytest.mark.parametrize("activation", [127, -127])
@pytest.mark.parametrize("cols", [256, 512, 2048, 8192, 70_000, 133_144])
def test_b037_long_runs_of_one_sign_do_not_overflow(symbol, code, activation, cols):
    """B037: partial sums kept in int16 (or 20 bits) overflow after some hundred equal products."""
    x = np.full((2, cols), activation, np.int8)
    x[1] = 1
    assert run_ternary(symbol, x, np.full(cols, code, np.int8)) == [cols * activation * code, cols * code]


@pytest.mark.parametrize("symbol", INT4)
def test_b037_int4_groups_do_not_overflow(symbol):
    x = np.full(66_560, 127, np.int8)
    w = np.full(33_280, 0x77, np.uint8)
    assert run_int4(symbol, x, w, 66_560) == [66_560 * 127 * 7]


@pytest.mark.parametrize("symbol", INT4)
def test_b016_groups_are_per_row_and_the_short_tail_counts(symbol):
    """B016: a row length that is no multiple of the group lost its tail, and scales slipped."""
    for cols, sums in ((6, [6]), (22, [16, 6]), (40, [16, 16, 8])):
        scales = np.array([1, 10, 100])
        for _ in range(2):
            acc = run_int4(symbol, np.ones(cols, np.int8), pack_int4(np.ones((1, cols), int), 32)[0], 16)
            assert acc == sums
            assert int((np.array(acc) * scales[: len(acc)]).sum()) == int(
                (np.array(sums) * scales[: len(sums)]).sum()
            )


@pytest.mark.parametrize("symbol", INT4)
def test_b016_groups_that_are_no_multiple_of_16_are_refused(symbol):
    acc = np.full(4, 99, np.int32)
    x, w = place(np.ones(16, np.int8), 0), place(np.full(16, 0x11, np.uint8), 0)
    for group in (4, 0, -16, 15, 17, 24):
        assert KERNELS[symbol].mirror(x, w, N32(6), N32(group), acc) == 1
    assert acc.tolist() == [99] * 4


@pytest.mark.parametrize("symbol", INT4)
def test_b017_all_sixteen_codes_at_every_position(symbol):
    """B017: nibble minus 7 in one decoder, two's complement in the other; all codes show it."""
    for at in range(34):
        for nibble in range(16):
            x, w = np.zeros(34, np.int8), np.zeros(32, np.uint8)
            x[at] = 1
            w[at // 2] = nibble << 4 * (at % 2)
            want = nibble if nibble < 8 else nibble - 16
            assert sum(run_int4(symbol, x, w, 16)) == want


def test_b017_nibble_order():
    """Even column in the low nibble; a split layout (columns j and j + 16 in one byte) would differ."""
    codes = np.arange(-7, 8).reshape(1, 15)
    packed = pack_int4(codes)[0].tolist()
    assert packed[:2] == [0xA9, 0xCB]
    assert packed[-1] == 0x07


@pytest.mark.parametrize("symbol", INT4)
def test_b019_rows_are_as_long_as_their_padding(symbol):
    """B019: a stride of cols / 2 bytes, although rows are padded: every row after the first drifts."""
    codes = np.array([[1, 2, 3, 4, 5, 6], [-1, -2, -3, -4, -5, -6], [1, -1, 1, -1, 1, -1]])
    packed = pack_int4(codes, int4_row_bytes(6, 16))
    assert packed.strides[0] == 16
    sums = [run_int4(symbol, np.ones(6, np.int8), w, 16)[0] for w in packed]
    assert sums == [21, -21, 0]


def test_b019_strides_of_the_row_kernels():
    """Every row its own contents: a stride that is off by anything shows in the second row."""
    for gap in (0, 16, 48):
        x = np.full(3 * (32 + gap), 77, np.int8)
        for r in range(3):
            x[r * (32 + gap) : r * (32 + gap) + 32] = [r + 1] * 20 + [0] * 12
        w = place(np.array([1] * 20 + [0] * 12, np.int8), 0)
        acc = np.zeros(5, np.int32)
        status = KERNELS["dot_rows_s8"].mirror(place(x, 0), N32(32 + gap), N32(3), w, N32(20), acc, N32(2))
        assert (status, acc.tolist()) == (0, [20, 0, 40, 0, 60])


@pytest.mark.parametrize("symbol", ["dot_rows_s8", "dot_rows_s8_c", "gemm_s8", "gemm_s8_c"])
def test_b042_all_pairs_of_signed_bytes(symbol):
    """B042: plain char is unsigned on Xtensa, so a weight of -5 (0xFB) became 251."""
    values = np.arange(-128, 128).astype(np.int8)
    x, acc = np.zeros((256, 16), np.int8), np.zeros(256, np.int32)
    x[:, 0] = values
    x = place(x, 0)
    for weight in (-5, -128, -127, -1, 0, 1, 127):
        w = place(np.array([weight] + [0] * 15, np.int8), 0)
        sizes = (N32(16), N32(1)) if symbol.startswith("gemm") else ()
        status = KERNELS[symbol].mirror(x, N32(16), N32(256), w, *sizes, N32(1), acc, N32(1))
        assert (status, acc.tolist()) == (0, [int(v) * weight for v in values])


@pytest.mark.parametrize("symbol", TERNARY)
def test_b042_ternary_reads_signed_activations(symbol):
    x = np.array([[-5, -127, 127]], np.int8)
    assert run_ternary(symbol, x, np.array([1, 1, 1], np.int8)) == [-5]
    assert run_ternary(symbol, x, np.array([-1, 0, -1], np.int8)) == [-122]


def test_b002_minus_128_stays_minus_128():
    """B002: a low clamp at -127 would read -128 as -127. Sums are exact for every pair, also with -128."""
    x = place(np.full(16, -128, np.int8), 0)
    acc = np.zeros(1, np.int32)
    assert KERNELS["dot_rows_s8"].mirror(x, N32(16), N32(1), x, N32(16), acc, N32(1)) == 0
    assert acc[0] == 16 * 128 * 128


@pytest.mark.parametrize("symbol", [*TERNARY, *INT4, "dot_rows_s8", "dot_rows_s8_c"])
def test_b054_every_short_row(symbol):
    """B054: lengths below the vector size took another path, wrong for the first element."""
    for cols in range(1, 40):
        x = ((np.arange(cols) * 37 + 5) % 255 - 127).astype(np.int8)
        codes = (np.arange(cols) * 5 + 2) % 3 - 1
        want = int((x.astype(int) * codes).sum())
        if symbol in TERNARY:
            assert run_ternary(symbol, x.reshape(1, -1), codes) == [want]
        elif symbol in INT4:
            assert sum(run_int4(symbol, x, pack_int4(codes.reshape(1, -1), 32)[0], 16)) == want
        else:
            pad = (np.append(v, np.zeros(-cols % 16, int)).astype(np.int8) for v in (x, codes))
            a, w = (place(v, 0) for v in pad)
            acc = np.zeros(1, np.int32)
            assert KERNELS[symbol].mirror(a, N32(a.size), N32(1), w, N32(cols), acc, N32(1)) == 0
            assert acc[0] == want
