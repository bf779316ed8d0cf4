"""Examples of contested facts: inputs on which the readings differ, and inputs on which they agree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from pie_bench import DATA, TOP, Bench

MIN16 = -0x8000
Look = Callable[[Bench], Any]


@dataclass
class Setup:
    """Inputs and one program; `q` holds (lanes, bits) by register."""

    program: Sequence[tuple[Any, ...]]
    q: dict[int, tuple[Sequence[int], int]] = field(default_factory=dict)
    a: dict[int, int] = field(default_factory=dict)
    state: dict[str, int] = field(default_factory=dict)

    def on(self, bench: Bench) -> Bench:
        for number, (lanes, bits) in self.q.items():
            bench.set_q(number, lanes, bits)
        for number, value in self.a.items():
            bench.state.set_a(number, value)
        for name, value in self.state.items():
            bench.state.set(name, value)
        bench.run(*self.program)
        return bench


def lane(number: int, kind: str, index: int = 0) -> Look:
    return lambda bench: bench.q(number, kind)[index]


def a(number: int) -> Look:
    return lambda bench: bench.state.get_a(number)


def vector(number: int) -> Look:
    return lambda bench: bench.state.get_q(number)


def loaded(start: int, end: int) -> Look:
    """Bytes of memory from DATA on, as a number."""
    return lambda bench: int.from_bytes(bench.memory.read(DATA + start, end - start), "little")


def word(offset: int = 0) -> Look:
    return lambda bench: int.from_bytes(bench.memory.read(DATA + offset, 4), "little")


def state(name: str, bits: int) -> Look:
    return lambda bench: bench.state.get(name) & ((1 << bits) - 1)


def sar(count: int, **more: int) -> dict[str, int]:
    return {"SAR": count, **more}


def qacc(value: int, bits: int) -> dict[str, int]:
    whole = sum((value & ((1 << bits) - 1)) << at for at in range(0, 160, bits))
    return {"QACC_L": whole, "QACC_H": whole}


def cmul(count: int, x: Sequence[int], y: Sequence[int]) -> Setup:
    return Setup([("ee.cmul.s16", 2, 0, 1, 0)], {0: (x, 16), 1: (y, 16)}, state=sar(count))


def fft_store(sel8: int, upd4: int) -> Setup:
    q = {0: (range(1, 9), 16), 1: ([1, 0], 16), 2: (range(10, 18), 16)}
    program = [("ee.fft.cmul.s16.st.xp", 0, 1, 2, 2, 3, sel8, upd4, 0)]
    return Setup(program, q, {2: DATA, 3: 0}, sar(0))


def bitrev(width: int, ax: int = 0) -> Setup:
    return Setup([("ee.bitrev", 0, 2)], a={2: ax}, state={"FFT_BIT_WIDTH": width})


def ams(value: int) -> Setup:
    """P = p + (d * w >> 15) with p = 0, w = 16384."""
    q = {0: ([value, 0], 16), 1: ([-value, 0], 16), 2: ([16384, 0], 16)}
    return Setup([("ee.fft.ams.s16.ld.incp", 3, 2, 4, 5, 0, 1, 2, 0)], q, {2: DATA}, sar(15))


def relu(kind: str, lanes: int, ax: int, ay: int) -> Setup:
    return Setup([(f"ee.vrelu.{kind}", 0, 2, 3)], {0: ([lanes], int(kind[1:]))}, {2: ax, 3: ay})


def prelu(kind: str, x: int, y: int, ay: int) -> Setup:
    bits = int(kind[1:])
    return Setup([(f"ee.vprelu.{kind}", 2, 0, 1, 3)], {0: ([x], bits), 1: ([y], bits)}, {3: ay})


def mul(kind: str, x: int, y: int, count: int) -> Setup:
    bits = int(kind[1:])
    return Setup([(f"ee.vmul.{kind}", 2, 0, 1)], {0: ([x], bits), 1: ([y], bits)}, state=sar(count))


def two(name: str, kind: str, x: int, y: int) -> Setup:
    bits = int(kind[1:])
    return Setup([(f"ee.{name}.{kind}", 2, 0, 1)], {0: ([x], bits), 1: ([y], bits)})


def shift(name: str, value: int, count: int) -> Setup:
    return Setup([(name, 1, 0)], {0: ([value], 32)}, state=sar(count))


def srcmb(kind: str, value: int, count: int, sel2: int = 0) -> Setup:
    program = [(f"ee.srcmb.{kind}.qacc", 2, 2, sel2)]
    return Setup(program, a={2: count}, state=qacc(value, 20 if kind == "s8" else 40))


def srs(value: int, count: int, sel2: int = 0) -> Setup:
    return Setup([("ee.srs.accx", 4, 3, sel2)], a={3: count}, state={"ACCX": value & ((1 << 40) - 1)})


SIGNED = TOP - 4 * 0x10000
"""Where an index with bit 15 set leads when it is signed and leads to TOP when it is not."""


def indexed(index: int) -> Setup:
    q = {0: ([index], 16), 1: ([0x55AA1234], 32)}
    return Setup([("ee.stxq.32", 1, 0, 2, 0, 0)], q, {2: TOP - 4 * index})


def mark_at(bench: Bench) -> int:
    found = [at for at in (TOP, SIGNED) if bench.memory.read(at, 4) == b"\x34\x12\xaa\x55"]
    assert len(found) == 1
    return found[0]


def mac(kind: str, target: str, start: dict[str, int], value: int) -> Setup:
    q = {0: ([value], int(kind[1:])), 1: ([1], int(kind[1:]))}
    return Setup([(f"ee.vmulas.{kind}.{target}", 0, 1)], q, state=start)


def fft_load(sel8: int) -> Setup:
    q = {0: ([3], 16), 1: ([1, 0], 16), 2: ([9], 16)}
    return Setup([("ee.fft.cmul.s16.ld.xp", 3, 2, 4, 2, 0, 1, sel8)], q, {2: DATA, 4: 0}, sar(0))


def r2bf(value: int, sar4: int) -> Setup:
    return Setup([("ee.fft.r2bf.s16.st.incp", 1, 0, 0, 2, sar4)], {0: ([value], 16)}, {2: DATA})


def vst_r32(value: int, sar2: int) -> Setup:
    return Setup([("ee.fft.vst.r32.decp", 0, 2, sar2)], {0: ([value], 32)}, {2: DATA})


def st_accx(value: int) -> Setup:
    return Setup([("ee.st.accx.ip", 2, 8)], a={2: DATA}, state={"ACCX": value})


def rur_accx(value: int) -> Setup:
    return Setup([("rur.accx_1", 2)], state={"ACCX": value})


M1 = (1 << 40) - 1
B19, B39, MIN32 = 1 << 19, 1 << 39, -(1 << 31)
UPD3 = fft_store(7, 3)

# (fact, program and inputs, what to look at, its value under each of Reading.choices)
CASES: list[tuple[str, Setup, Look, tuple[Any, ...]]] = [
    ("accumulator_sel2", srcmb("s16", 3, 1, 1), lane(2, "s16"), (1, 2, 1)),
    ("accumulator_sel2", srcmb("s16", 3, 1, 1), state("QACC_L", 40), (1, 2, 1)),
    ("accumulator_sel2", srcmb("s8", 0x180, 0, 1), lane(2, "s8"), (127, 127, -128)),
    ("accumulator_sel2", srs(-1, 4, 1), a(4), (0xFFFFFFFF, 0, 0xFFFFFFFF)),
    ("accumulator_sel2", srs(1 << 32, 0, 1), a(4), (0x7FFFFFFF, 0x7FFFFFFF, 0)),
    ("vsr_count_33", shift("ee.vsr.32", -5, 33), lane(1, "s32"), (0, -1)),
    ("vsr_count_33", shift("ee.vsr.32", -5, 63), lane(1, "s32"), (0, -1)),
    ("vsl_overflow", shift("ee.vsl.32", 0x12345678, 4), lane(1, "u32"), (0x23456780, 0x7FFFFFFF)),
    ("vsl_overflow", shift("ee.vsl.32", 0x40000000, 1), lane(1, "u32"), (0x80000000, 0x7FFFFFFF)),
    ("vsl_overflow", shift("ee.vsl.32", -0x40000001, 1), lane(1, "u32"), (0x7FFFFFFE, 0x80000000)),
    ("vsl_count_33", shift("ee.vsl.32", 1, 33), lane(1, "u32"), (0x7FFFFFFF, 0)),
    ("vsl_count_33", shift("ee.vsl.32", -1, 63), lane(1, "u32"), (0x80000000, 0)),
    ("vmul_count_16", mul("s8", -3, 5, 16), lane(2, "s8"), (-1, 0)),
    ("vmul_count_16", mul("s8", -3, 5, 31), lane(2, "s8"), (-1, 0)),
    ("vmul_count_32", mul("s8", -3, 5, 33), lane(2, "s8"), (0, -1)),
    ("vmul_count_32", mul("s16", -3, 5, 32), lane(2, "s16"), (0, -1)),
    ("relu_count_16", relu("s8", -3, 5, 16), lane(0, "s8"), (-1, 0)),
    ("relu_count_16", prelu("s8", -3, 5, 31), lane(2, "s8"), (-1, 0)),
    ("relu_count_32", relu("s16", -3, 5, 32), lane(0, "s16"), (0, -1)),
    ("relu_count_32", prelu("s16", -3, 5, 63), lane(2, "s16"), (0, -1)),
    ("complex_count_32", cmul(32, [1, 0], [-5, 0]), lane(2, "s16"), (0, -1)),
    ("complex_count_32", cmul(63, [1, 0], [-5, 0]), lane(2, "s16"), (0, -1)),
    ("srs_count_40", srs(-5, 40), a(4), (0xFFFFFFFF, 0)),
    ("srs_count_40", srs(-5, 63), state("ACCX", 40), (M1, 0)),
    ("srcmb16_count_40", srcmb("s16", -5, 40), lane(2, "s16"), (-1, 0)),
    ("srcmb16_count_40", srcmb("s16", -5, 63), state("QACC_H", 160), ((1 << 160) - 1, 0)),
    ("srcmb8_count_20", srcmb("s8", -5, 20), lane(2, "s8"), (-1, 0)),
    ("srcmb8_count_20", srcmb("s8", -5, 31), state("QACC_H", 160), ((1 << 160) - 1, 0)),
    ("lane_lower_clamp", two("vadds", "s16", MIN16, -1), lane(2, "s16"), (MIN16, MIN16 + 1)),
    ("lane_lower_clamp", two("vsubs", "s8", -128, 1), lane(2, "s8"), (-128, -127)),
    ("lane_lower_clamp", two("vsubs", "s32", MIN32, 0), lane(2, "s32"), (MIN32, MIN32 + 1)),
    ("accumulator_lower_clamp", mac("s8", "qacc", qacc(B19, 20), -1), state("QACC_H", 20), (B19, B19 + 1)),
    ("accumulator_lower_clamp", mac("s16", "qacc", qacc(B39, 40), -1), state("QACC_L", 40), (B39, B39 + 1)),
    ("accumulator_lower_clamp", mac("s8", "accx", {"ACCX": B39 + 16}, -1), state("ACCX", 40), (B39, B39 + 1)),
    ("complex_sum_width", cmul(31, [MIN16], [MIN16]), lane(2, "s16", 1), (1, -1)),
    ("xq_index", indexed(0xFFFF), mark_at, (TOP, SIGNED)),
    ("relu_multiplier", relu("s8", -2, 0x81, 2), lane(0, "s8"), (63, -65, -65)),
    ("relu_multiplier", relu("s8", -2, 0x101, 2), lane(0, "s8"), (-1, -1, 127)),
    ("relu_multiplier", relu("s8", -2, 0x1001, 6), lane(0, "s8"), (-1, -1, 127)),
    ("relu_multiplier", relu("s16", -2, 0x100001, 6), lane(0, "s16"), (-1, -1, 32767)),
    ("relu_multiplier", relu("s16", -2, 0x18001, 2), lane(0, "s16"), (16383, -16385, 16383)),
    ("fft_cmul_ld_select", fft_load(7), lane(2, "s16", 6), (9, 3)),
    ("fft_cmul_st_select", fft_store(1, 0), word(12), (0x00020001, 0x00080007)),
    ("fft_cmul_st_update", UPD3, word(0), (0, 0x000B000A, 0x00020001, 0x00020001)),
    ("fft_cmul_st_update", UPD3, word(4), (0, 0x000D000C, 0x00040003, 0x000F000E)),
    ("fft_cmul_st_update", UPD3, word(8), (0, 0x000F000E, 0x000F000E, 0x00040003)),
    ("fft_cmul_st_update", UPD3, word(12), (0, 0x00080007, 0x00080007, 0x00080007)),
    ("ams_sum_width", ams(0x7000), lane(4, "u16", 2), (0x7000, 0xF000, 0x3FFF)),
    ("r2bf_sum_width", r2bf(0x7FFF, 1), word(), (0x7FFF7FFF, 0xFFFFFFFF)),
    ("fft_vst_shift", vst_r32(0x80018001, 1), word(), (0xC000C000, 0x4000C000)),
    ("bitrev_width", bitrev(0), lane(0, "u16", 1), (128, 0, 4)),
    ("bitrev_width", bitrev(5), lane(0, "u16", 1), (16, 16, 128)),
    ("bitrev_width_3", bitrev(3), lane(0, "u16", 7), (0, 7)),
    ("st_accx_sign", st_accx(M1), word(4), (0xFF, 0xFFFFFFFF)),
    ("rur_accx_1", rur_accx(M1), a(2), (0xFF, 0xFFFFFFFF)),
]

# Inputs on which all readings agree, so that nothing may be flagged.
QUIET: dict[str, list[Setup]] = {
    "accumulator_sel2": [srcmb("s16", 3, 1), srs(-1, 4), srcmb("s16", 2, 1, 1)],
    "vsr_count_33": [shift("ee.vsr.32", -5, 31), shift("ee.vsr.32", -5, 32), shift("ee.vsr.32", 5, 63)],
    "vsl_overflow": [
        shift("ee.vsl.32", 0x3FFFFFFF, 1),
        shift("ee.vsl.32", -1, 31),
    ],
    "vsl_count_33": [shift("ee.vsl.32", 1, 32), shift("ee.vsl.32", -1, 32), shift("ee.vsl.32", 0, 63)],
    "vmul_count_16": [mul("s8", -3, 5, 15), mul("s8", 3, 5, 31), mul("u8", 255, 255, 31)],
    "vmul_count_32": [mul("s8", -3, 5, 32), mul("s16", -3, 5, 31), mul("u16", 0xFFFF, 0xFFFF, 63)],
    "relu_count_16": [relu("s8", -3, 5, 15), relu("s8", 3, -5, 31), prelu("s8", -3, 5, 32)],
    "relu_count_32": [relu("s16", -3, 5, 31), prelu("s16", 3, -5, 63), prelu("s16", -3, 5, 64)],
    "complex_count_32": [cmul(31, [1, 0], [-5, 0]), cmul(63, [1, 0], [5, 0])],
    "srs_count_40": [srs(-5, 39), srs(5, 63), srs(-5, 64)],
    "srcmb16_count_40": [srcmb("s16", -5, 39), srcmb("s16", 5, 63)],
    "srcmb8_count_20": [srcmb("s8", -5, 19), srcmb("s8", 5, 31), srcmb("s8", -5, 32)],
    "lane_lower_clamp": [two("vadds", "s8", -128, -128), two("vsubs", "s16", MIN16 + 2, 1)],
    "accumulator_lower_clamp": [
        mac("s8", "qacc", qacc(2 - (1 << 19), 20), -1),
        mac("u8", "qacc", qacc(1 << 19, 20), 255),
        mac("s8", "accx", {"ACCX": (1 << 39) + 17}, -1),
    ],
    "complex_sum_width": [
        cmul(31, [MIN16 + 1, MIN16], [MIN16]),
        cmul(16, [MIN16], [MIN16]),
    ],
    "xq_index": [indexed(0x7FFF), indexed(0)],
    "relu_multiplier": [relu("s8", 5, 0x80, 0), relu("s8", -5, 127, 3)],
    "fft_cmul_ld_select": [fft_load(5)],
    "fft_cmul_st_select": [fft_store(6, 0), fft_store(7, 2)],
    "fft_cmul_st_update": [fft_store(7, 2)],
    "ams_sum_width": [ams(0x3FFF), ams(-0x4000)],
    "r2bf_sum_width": [r2bf(0x3FFF, 1), r2bf(0x7FFF, 0)],
    "fft_vst_shift": [vst_r32(0x80018001, 0), vst_r32(0x7FFE7FFF, 1)],
    "bitrev_width": [],
    "bitrev_width_3": [bitrev(4), bitrev(8, 3)],
    "st_accx_sign": [st_accx(M1 >> 1)],
    "rur_accx_1": [rur_accx(M1 >> 1)],
}
