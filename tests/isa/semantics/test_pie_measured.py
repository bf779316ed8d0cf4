"""Facts measured on real chips, with the published numbers or the smallest ones that show the same."""

from __future__ import annotations

import pytest
from pie_bench import DATA, Bench

MIN16, MAX16 = -0x8000, 0x7FFF


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_address_of_128_bits_drops_four_bits_and_pointer_keeps_them(bench: Bench) -> None:
    bench.fill(bytes(range(64)))
    for offset in range(16):
        bench.state.set_a(2, DATA + 16 + offset)
        bench.run(("ee.vld.128.ip", 0, 2, 32))
        assert bench.q(0) == list(range(16, 32))
        assert bench.state.get_a(2) == DATA + 48 + offset


def test_usar_keeps_the_dropped_bits(bench: Bench) -> None:
    bench.fill(bytes(range(64)))
    bench.state.set_a(2, DATA + 5)
    bench.run(("ee.ld.128.usar.ip", 0, 2, 16), ("ee.vld.128.ip", 1, 2, 16), ("ee.src.q", 2, 0, 1))
    assert bench.state.SAR_BYTE == 5
    assert bench.q(2) == list(range(5, 21))
    assert bench.q(0) == list(range(16)), "src.q leaves qs0 alone"


def test_accx_transfers_step_by_8(bench: Bench) -> None:
    bench.fill(bytes(range(1, 17)))
    bench.state.set_a(2, DATA + 3)
    bench.run(("ee.ld.accx.ip", 2, 1016), ("ee.st.accx.ip", 2, -1024))
    assert bench.state.ACCX == 0x0504030201
    assert bench.memory.read(DATA + 1016, 8) == bytes([1, 2, 3, 4, 5, 0, 0, 0])
    assert bench.state.get_a(2) == DATA + 3 + 1016 - 1024


def test_indexed_load_with_index_0_is_not_shifted(bench: Bench) -> None:
    bench.fill(bytes(range(64)))
    bench.state.set_a(2, DATA + 16)
    bench.set_q(0, [0, 1], 16)
    bench.set_q(1, [0x11223344], 32)
    bench.run(("ee.ldxq.32", 1, 0, 2, 1, 0), ("ee.stxq.32", 1, 0, 2, 0, 1))
    assert bench.q(1, "u32") == [0x11223344, 0x13121110, 0x11223344, 0x11223344]
    assert bench.memory.read(DATA + 16, 8) == bytes.fromhex("1011121344332211")


def test_vadds_s8_clamps_at_minus_128(bench: Bench) -> None:
    bench.set_q(0, [-100], 8)
    bench.run(("ee.vadds.s8", 1, 0, 0))
    assert bench.q(1, "s8") == [-128] * 16
    assert not bench.diagnostics.contested


def test_vsubs_is_qx_minus_qy(bench: Bench) -> None:
    bench.set_q(0, [1000], 16)
    bench.set_q(1, [1], 16)
    bench.run(("ee.vsubs.s16", 2, 0, 1))
    assert bench.q(2, "s16") == [999] * 8


def test_products_round_down_and_wrap(bench: Bench) -> None:
    bench.state.SAR = 2
    bench.set_q(0, [-3, 3, MIN16, 300], 16)
    bench.set_q(1, [1, 1, MIN16, 300], 16)
    bench.run(("ee.vmul.s16", 2, 0, 1))
    assert bench.q(2, "s16") == [-1, 0, 0x1000_0000 % 0x10000, 22500] * 2


def test_vmul_u16_with_a_shift_of_1(bench: Bench) -> None:
    bench.state.SAR = 1
    bench.set_q(0, [0xFFFF], 16)
    bench.run(("ee.vmul.u16", 2, 0, 0))
    assert bench.q(2, "u16") == [(0xFFFF * 0xFFFF >> 1) & 0xFFFF] * 8


def test_qacc_u8_saturates_at_20_bits(bench: Bench) -> None:
    bench.set_q(0, [255], 8)
    bench.run(("ee.zero.qacc",), *[("ee.vmulas.u8.qacc", 0, 0)] * 16)
    assert bench.state.get("QACC_L") == sum(0xFE010 << 20 * i for i in range(8))
    bench.run(("ee.vmulas.u8.qacc", 0, 0))
    assert bench.state.get("QACC_L") == bench.state.get("QACC_H") == (1 << 160) - 1


def test_qacc_s16_has_lanes_of_40_bits(bench: Bench) -> None:
    bench.set_q(0, range(1, 9), 16)
    bench.set_q(1, [-1000, 1000], 16)
    bench.run(("ee.zero.qacc",), ("ee.vmulas.s16.qacc", 0, 1))
    lanes = [(i + 1) * (1000 if i % 2 else -1000) & ((1 << 40) - 1) for i in range(8)]
    assert bench.state.get("QACC_L") == sum(lane << 40 * i for i, lane in enumerate(lanes[:4]))
    assert bench.state.get("QACC_H") == sum(lane << 40 * i for i, lane in enumerate(lanes[4:]))


def test_accx_s16_clamps_at_2_to_39_minus_1(bench: Bench) -> None:
    bench.set_q(0, [MIN16], 16)
    mac = ("ee.vmulas.s16.accx", 0, 0)
    bench.run(("ee.zero.accx",), *[mac] * 63)
    assert bench.state.ACCX == 63 << 33
    bench.run(mac)
    assert bench.state.ACCX == (1 << 39) - 1


def test_accx_u16_sums_unsigned(bench: Bench) -> None:
    bench.set_q(0, [0xFFFF], 16)
    bench.run(("ee.zero.accx",), *[("ee.vmulas.u16.accx", 0, 0)] * 3)
    assert bench.state.ACCX == 24 * 0xFFFF * 0xFFFF


def test_vsmulas_takes_one_lane_of_qy(bench: Bench) -> None:
    bench.set_q(0, range(8), 16)
    bench.set_q(1, range(10, 18), 16)
    for select in range(8):
        bench.run(("ee.zero.qacc",), ("ee.vsmulas.s16.qacc", 0, 1, select))
        lanes = [i * (10 + select) for i in range(8)]
        assert bench.state.get("QACC_L") == sum(lane << 40 * i for i, lane in enumerate(lanes[:4]))
        assert bench.state.get("QACC_H") == sum(lane << 40 * i for i, lane in enumerate(lanes[4:]))


def test_srcmb_s16_rounds_down_saturates_and_writes_back(bench: Bench) -> None:
    bench.set_q(0, [-3, 3, MAX16, MIN16], 16)
    bench.set_q(1, [1, 1, MAX16, MAX16], 16)
    bench.state.set_a(2, 1)
    bench.run(("ee.zero.qacc",), ("ee.vmulas.s16.qacc", 0, 1), ("ee.srcmb.s16.qacc", 2, 2, 0))
    assert bench.q(2, "s16") == [-2, 1, MAX16, MIN16] * 2
    lanes = [-2, 1, MAX16 * MAX16 >> 1, MIN16 * MAX16 >> 1]
    packed = sum((lane & ((1 << 40) - 1)) << 40 * i for i, lane in enumerate(lanes))
    assert bench.state.get("QACC_L") == bench.state.get("QACC_H") == packed


@pytest.mark.parametrize(
    ("accx", "count", "word", "left"),
    [(-5, 1, -3, -3), ((1 << 39) - 1, 7, 0x7FFFFFFF, (1 << 32) - 1), (-(1 << 39), 3, -(1 << 31), -(1 << 36))],
)
def test_srs_accx_shifts_the_accumulator_and_saturates(accx: int, count: int, word: int, left: int) -> None:
    bench = Bench()
    bench.state.set("ACCX", accx)
    bench.state.set_a(3, count)
    bench.run(("ee.srs.accx", 4, 3, 0))
    assert bench.state.get_a(4) == word & 0xFFFFFFFF
    assert left & ((1 << 40) - 1) == bench.state.ACCX


@pytest.mark.parametrize("name", ["ee.slcxxp.2q", "ee.srcxxp.2q"])
def test_pair_shifts_count_four_bits_of_the_pointer(bench: Bench, name: str) -> None:
    results = []
    for pointer in (0x12345672, 2):
        bench.set_q(0, range(16), 8)
        bench.set_q(1, range(16, 32), 8)
        bench.state.set_a(2, pointer)
        bench.state.set_a(3, 0x100)
        bench.run((name, 1, 0, 2, 3))
        results.append(bench.q(0) + bench.q(1))
        assert bench.state.get_a(2) == pointer + 0x100
    both = list(range(32))
    expected = [0, 0, 0, *both[:29]] if "slc" in name else [*both[3:], 0, 0, 0]
    assert results == [expected, expected]


@pytest.mark.parametrize("shift", [0, 12])
@pytest.mark.parametrize("select", [0, 1])
def test_cmul_even_lane_real_in_place(bench: Bench, select: int, shift: int) -> None:
    x = [100, -2000, 3000, 4000, -5000, 6000, 7000, 30000]
    y = [5, 60, -700, 8000, 9, -100, 1100, 12000]
    bench.state.SAR = shift
    bench.set_q(0, x, 16)
    bench.set_q(1, y, 16)
    bench.run(("ee.cmul.s16", 0, 0, 1, select))
    expected = list(x)
    for k in (4 * select, 4 * select + 2):
        value = complex(x[k], x[k + 1]) * complex(y[k], y[k + 1])
        expected[k : k + 2] = [int(value.real) >> shift, int(value.imag) >> shift]
    assert bench.q(0, "u16") == [lane & 0xFFFF for lane in expected]


@pytest.mark.parametrize("select", [0, 1])
def test_r2bf_with_equal_inputs(bench: Bench, select: int) -> None:
    x = [1, 20, 300, 4000, 50, 600, 7000, 80]
    bench.set_q(0, x, 16)
    bench.run(("ee.fft.r2bf.s16", 1, 2, 0, 0, select))
    a, b = (x[:4], x[4:]) if select == 0 else (x[:2] + x[4:6], x[2:4] + x[6:])
    plus = [i + j for i, j in zip(a, b, strict=True)]
    minus = [i - j for i, j in zip(a, b, strict=True)]
    assert bench.q(1, "s16") == bench.q(2, "s16") == plus + minus


def test_bitrev_takes_a_number_and_drops_bits_above_the_width(bench: Bench) -> None:
    bench.state.FFT_BIT_WIDTH = 8
    bench.state.set_a(2, 0xFFFFFF00)
    bench.run(("ee.bitrev", 0, 2))
    reverse = [int(f"{i:08b}"[::-1], 2) for i in range(8)]
    assert bench.q(0, "u16") == [max(pair) for pair in enumerate(reverse)]
    assert bench.state.get_a(2) == 0xFFFFFF08
