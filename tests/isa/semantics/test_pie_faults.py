"""Faults that firmware and emulators of this kind really had, by their number in the list of known faults."""

from __future__ import annotations

import random

import pytest
from pie_bench import CODE, DATA, PIE_ROWS, Bench, random_case

from emu.cpu.machine import Cause
from emu.cpu.shadow import READ, WRITE
from emu.cpu.state_tools import compare, copy, dirty
from emu.cpu.traps import Trap, TrapKind
from emu.isa.table import Row

GPIO = "gpio"
PAIRS = ("ee.ldf", "ee.stf")


# --- B001 --------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("end", "total"), [("behind the load", 96), ("on the load", 48)])
def test_b001_hardware_loop_that_leaves_out_its_last_load(end: str, total: int) -> None:
    bench = Bench()
    x = b"\1" * 16 + b"\2" * 16 + b"\3" * 16 + b"\x77" * 16
    y = b"\1" * 48 + b"\x77" * 16
    bench.fill(x, DATA)
    bench.fill(y, DATA + 0x100)
    bench.state.set_a(2, DATA)
    bench.state.set_a(3, DATA + 0x100)
    bench.state.set_a(4, 3)
    loop = CODE + 3 * 3
    mac = loop + 3
    label = mac + 4 + (3 if end == "behind the load" else 0)
    bench.run(
        ("ee.zero.accx",),
        ("ee.vld.128.ip", 0, 2, 16),
        ("ee.vld.128.ip", 1, 3, 16),
        ("loop", 4, label),
        ("ee.vmulas.s8.accx.ld.ip", 1, 3, 16, 0, 1),
        ("ee.vld.128.ip", 0, 2, 16),
    )
    assert total == bench.state.ACCX
    assert bench.state.get_a(3) == DATA + 0x100 + 64, "one block beyond the data is read"


# --- B002 --------------------------------------------------------------------------------------------
@pytest.mark.parametrize("bits", [8, 16, 32])
@pytest.mark.parametrize("suffix", ["", ".ld.incp", ".st.incp"])
def test_b002_saturating_sums_reach_the_minimum(bits: int, suffix: str) -> None:
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    pairs = [(-1, -high), (low, -1), (low, low), (-100, low + 50), (high - 7, 20), (low, high), (high, low)]
    sums, differences = [low, low, low, low, high, -1, -1], [high - 1, low + 1, 0, 0, 0, low, high]
    differences[3:5] = [min(high, -100 - (low + 50)), high - 27]
    for (a, b), total, difference in zip(pairs, sums, differences, strict=True):
        assert _lane("vadds", bits, suffix, a, b) == total, (a, b)
        assert _lane("vsubs", bits, suffix, a, b) == difference, (a, b)


def _lane(name: str, bits: int, suffix: str, a: int, b: int) -> int:
    bench = Bench()
    bench.state.set_a(2, DATA)
    bench.set_q(0, [a], bits)
    bench.set_q(1, [b], bits)
    fused = (3, 2) if suffix else ()
    bench.run((f"ee.{name}.s{bits}{suffix}", *fused, 2, 0, 1))
    lanes = bench.q(2, f"s{bits}")
    assert len(set(lanes)) == 1
    return lanes[0]


# --- B004, B020, B078: masked addresses ---------------------------------------------------------------
@pytest.mark.parametrize("half", ["l", "h"])
@pytest.mark.parametrize("offset", range(8))
def test_b004_half_load_drops_three_bits_of_the_address(half: str, offset: int) -> None:
    bench = Bench()
    bench.fill(bytes(range(32)))
    bench.state.set_a(2, DATA + offset)
    bench.set_q(0, [0xEE], 8)
    bench.run((f"ee.vld.{half}.64.ip", 0, 2, 8))
    loaded = list(range(8))
    assert bench.q(0) == (loaded + [0xEE] * 8 if half == "l" else [0xEE] * 8 + loaded)
    assert bench.state.get_a(2) == DATA + offset + 8
    assert sum(bench.diagnostics.misaligned.values()) == (offset > 0)


def test_b004_usar_pair_reads_unaligned_data() -> None:
    bench = Bench()
    bench.fill(bytes(range(32)))
    bench.state.set_a(2, DATA + 5)
    bench.run(("ee.ld.128.usar.ip", 0, 2, 16), ("ee.vld.128.ip", 1, 2, 0), ("ee.src.q.qup", 2, 0, 1))
    assert bench.q(2)[:8] == list(range(5, 13))


@pytest.mark.parametrize("offset", range(16))
def test_b020_store_lands_at_the_masked_address(offset: int) -> None:
    bench = Bench()
    bench.fill(b"\xee" * 64)
    bench.state.set_a(2, DATA + 16 + offset)
    bench.set_q(0, [1], 8)
    bench.run(("ee.vst.128.ip", 0, 2, 16))
    assert bench.memory.read(DATA, 64) == b"\xee" * 16 + b"\1" * 16 + b"\xee" * 32
    assert bench.state.get_a(2) == DATA + 32 + offset


@pytest.mark.parametrize("offset", [1, 4, 8, 15])
def test_b020_guard_zone_before_the_buffer_reports_it(offset: int) -> None:
    """The buffer starts at an odd place; the store begins before it."""
    bench = Bench()
    bench.memory.shadow.enable()
    bench.memory.shadow.allow(DATA + 16 + offset, 16, READ | WRITE)
    bench.state.set_a(2, DATA + 16 + offset)
    with pytest.raises(Trap) as trap:
        bench.run(("ee.vst.128.ip", 0, 2, 16))
    assert trap.value.kind == TrapKind.BOUNDS_WRITE
    assert trap.value.address == DATA + 16


@pytest.mark.parametrize("offset", [0, 4, 8, 12])
def test_b078_save_area_must_be_aligned(offset: int) -> None:
    """A frame at 16n + 4, 8, 12 overwrites what lies before it, and restores nothing wrong from there."""
    bench = Bench()
    dirty(bench.state, 5)
    bench.state.LCOUNT = 0
    saved = [bench.state.get_q(i) for i in range(8)]
    frame = DATA + 0x100 + offset
    bench.fill(b"\xee" * 0x200)
    bench.state.set_a(2, frame)
    bench.run(*[("ee.vst.128.ip", i, 2, 16) for i in range(8)])
    before = bench.memory.read(DATA, 0x100 + offset)
    assert (before == b"\xee" * len(before)) == (offset == 0)
    assert bench.memory.read(frame + 128, 16) == b"\xee" * 16
    for i in range(8):
        bench.state.set_q(i, 0)
    bench.state.set_a(2, frame)
    bench.run(*[("ee.vld.128.ip", i, 2, 16) for i in range(8)])
    assert [bench.state.get_q(i) for i in range(8)] == saved


# --- B005 --------------------------------------------------------------------------------------------
def test_b005_unsigned_accumulator_lanes() -> None:
    bench = Bench()
    bench.set_q(0, [255], 8)
    bench.state.set_a(2, DATA)
    bench.run(("ee.zero.qacc",), *[("ee.vmulas.u8.qacc", 0, 0)] * 16)
    assert bench.state.get("QACC_H") == sum(0xFE010 << 20 * i for i in range(8))
    bench.run(
        ("ee.vmulas.u8.qacc", 0, 0),
        ("ee.st.qacc_l.l.128.ip", 2, 16),
        ("ee.st.qacc_l.h.32.ip", 2, 4),
    )
    assert bench.memory.read(DATA, 20) == b"\xff" * 20


@pytest.mark.parametrize(("kind", "bits"), [("u8", 20), ("u16", 40)])
def test_b005_every_unsigned_lane_clamps_at_its_own_end(kind: str, bits: int) -> None:
    """One step below, at and above the end, beside lanes that must not notice."""
    width = int(kind[1:])
    for distance in (0, 1, 2):
        bench = Bench()
        end = (1 << bits) - 1
        lanes = [end - distance if i % 2 else 0 for i in range(160 // bits)]
        for state in ("QACC_L", "QACC_H"):
            bench.state.set(state, sum(lane << bits * i for i, lane in enumerate(lanes)))
        bench.set_q(0, [1], width)
        bench.run((f"ee.vmulas.{kind}.qacc", 0, 0))
        after = [min(lane + 1, end) for lane in lanes]
        assert bench.state.get("QACC_L") == sum(lane << bits * i for i, lane in enumerate(after))


# --- B007 --------------------------------------------------------------------------------------------
WORDS = [0x12345678, 0xFFFFFFFF, 0x80000000, 1]


def test_b007_a_shift_of_32_is_not_a_shift_of_0() -> None:
    bench = Bench()
    bench.state.SAR = 32
    bench.set_q(0, WORDS, 32)
    bench.run(("ee.vsr.32", 1, 0), ("ee.vsl.32", 2, 0), ("ee.vmul.s8", 3, 0, 0))
    assert bench.q(1, "u32") == [0, 0, 0, 0]
    assert bench.q(2, "u32") == [0x7FFFFFFF, 0x80000000, 0x80000000, 0x7FFFFFFF]
    assert bench.q(3) == [0] * 16
    bench.set_q(4, [1, -1], 8)
    bench.set_q(5, [-128, 127], 8)
    bench.run(("ee.vmul.s8", 3, 4, 5))
    assert bench.q(3) == [0] * 16, "negative products too"
    assert not bench.diagnostics.contested


def test_b007_set_by_ssl_it_is_still_32_minus_n() -> None:
    """`ssl` with 0 leaves SAR = 32; with n, PIE shifts count 32 - n."""
    bench = Bench()
    bench.set_q(0, WORDS, 32)
    bench.state.set_a(2, 0)
    bench.run(("ssl", 2), ("ee.vsr.32", 1, 0))
    assert bench.q(1, "u32") == [0, 0, 0, 0]
    bench.state.set_a(2, 4)
    bench.run(("ssl", 2), ("ee.vsr.32", 1, 0))
    assert bench.q(1, "u32") == [1, 0xFFFFFFFF, 0xFFFFFFF8, 0]


# --- B024: the coprocessor that is disabled, the context that is saved ----------------------------------
@pytest.mark.parametrize("row", PIE_ROWS, ids=lambda row: row.mnemonic)
def test_b024_disabled_coprocessor_raises_before_any_effect(row: Row) -> None:
    """Cause 35 without bit 3 of CPENABLE (32 without bit 0 for pairs of f registers), nothing else."""
    number = 0 if row.mnemonic.startswith(PAIRS) else 3
    bench = Bench()
    bench.stepper.use_vectors = True
    case = random_case(row, random.Random(7))
    bench.put(case)
    bench.state.CPENABLE = 0xFF & ~(1 << number)
    before, memory = copy(bench.state), bench.memory.read(DATA, 0x3000)
    bench.stepper.step()
    if GPIO in row.mnemonic:
        assert bench.state.PSEXCM == 0
        assert CODE + row.length == bench.state.PC
        return
    changed = set(compare(before, bench.state))
    assert changed <= {"PC", "EPC1", "EXCCAUSE", "PSEXCM"}
    assert (Cause.COPROCESSOR0_DISABLED + number, CODE) == (bench.state.EXCCAUSE, bench.state.EPC1)
    assert bench.memory.read(DATA, 0x3000) == memory
    bench.state.PSEXCM, bench.state.PC = 0, CODE
    bench.state.CPENABLE = 1 << number
    bench.stepper.step()
    assert (0, CODE + row.length) == (bench.state.PSEXCM, bench.state.PC), "that bit alone is enough"


SAVE = [("ee.vst.128.ip", i, 2, 16) for i in range(8)]
SAVE += [("ee.st.qacc_l.l.128.ip", 2, 16), ("ee.st.qacc_l.h.32.ip", 2, 16), ("ee.st.qacc_h.l.128.ip", 2, 16)]
SAVE += [("ee.st.qacc_h.h.32.ip", 2, 16), ("ee.st.ua_state.ip", 2, 16), ("ee.st.accx.ip", 2, 16)]
RESTORE = [(str(name).replace(".vst.", ".vld.").replace(".st.", ".ld."), *rest) for name, *rest in SAVE]


@pytest.mark.parametrize("seed", range(5))
def test_b024_context_survives_saving_and_restoring(seed: int) -> None:
    """q0..q7, QACC, UA_STATE, ACCX and SAR_BYTE come back as they were after another context used them."""
    bench = Bench()
    dirty(bench.state, seed)
    bench.state.LCOUNT = 0
    names = [f"q{i}" for i in range(8)] + ["ACCX", "QACC_L", "QACC_H", "UA_STATE", "SAR_BYTE"]
    mine = copy(bench.state)
    bench.state.set_a(2, DATA)
    bench.run(("rur.sar_byte", 3), *SAVE)
    kept = bench.state.get_a(3)
    dirty(bench.state, seed + 100)
    bench.state.LCOUNT = 0
    assert set(names) <= set(compare(mine, bench.state)) | {"SAR_BYTE"}
    bench.state.set_a(2, DATA)
    bench.state.set_a(3, kept)
    bench.run(("wur.sar_byte", 3), *RESTORE)
    assert not set(names) & set(compare(mine, bench.state))
