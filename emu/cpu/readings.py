"""Contested facts of the instruction set: what this emulator takes to be true, and why.

A fact is contested when the documents, the tool tables and the published measurements do not settle it. Each
one has a name, one chosen reading that the semantics follow unless an option says otherwise, the other
readings, and the experiment on a board that would settle it. A run that depends on one says so
(:meth:`emu.cpu.machine.Machine.touch_contested`). docs/contested.md is this table as a page:
``python -m emu.cpu.readings > docs/contested.md``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType


class ReadingError(ValueError):
    """An option names a contested fact or a reading that does not exist."""


@dataclass(frozen=True)
class Reading:
    """One contested fact; ``alternatives`` are the readings that may be selected instead of ``chosen``.

    ``fact`` is the question, ``reason`` why ``chosen`` was chosen, ``board_test`` what a board must run.
    """

    name: str
    fact: str
    chosen: str
    alternatives: tuple[str, ...]
    reason: str
    board_test: str

    @property
    def choices(self) -> tuple[str, ...]:
        """All readings, the chosen one first."""
        return (self.chosen, *self.alternatives)


_SWEEP = "Sweep the count 0..63 with one positive and one negative lane, full value range in both."
_ZERO_RULE = (
    "Measured at a count of 32 on vsr.32 and vmul.s8: 0 in every lane, also for negative values; taken to "
    "hold for every larger count and for the other shifters of products."
)
_FILL_RULE = "The manual's formula: an arithmetic shift by all bits of the count; no measurement."

_TABLE = (
    Reading(
        "accumulator_sel2",
        "What the 1-bit operand sel2 of ee.srcmb.s8/s16.qacc and ee.srs.accx does when it is 1. The field is "
        "real (tool tables), the manual prints a literal 0.",
        "ignored",
        ("round", "wrap"),
        "Shipped kernels use 0 (2,429 of 2,430 uses); the one kernel with 1 adds its own rounding constant "
        "before, so 1 can hardly round again.",
        "Same accumulators with sel2 = 0 and 1: lanes whose discarded half is odd (round: add half before "
        "the shift), lanes beyond the range of the result (wrap: low bits instead of saturation), and the "
        "accumulator that is written back.",
    ),
    Reading(
        "vsr_count_33",
        "ee.vsr.32 with SAR = 33..63 (32 is measured: 0 in every lane).",
        "zero",
        ("sign",),
        _ZERO_RULE,
        "ee.vsr.32, SAR = 31..63, words 0x12345678, 0x80000000, 0xFFFFFFFF, 1.",
    ),
    Reading(
        "vsl_overflow",
        "ee.vsl.32 with SAR = 0..31 when bits are lost.",
        "truncate",
        ("saturate",),
        "The manual keeps the low 32 bits, and a published kernel that is compared with C on a chip "
        "sign-extends 10-bit fields by vsl.32 and vsr.32 with 22, which works only so. Still open because at "
        "SAR = 32 a chip saturates (measured, followed), which the manual does not say.",
        "0x12345678 << 4, 0x40000000 << 1, 0xBFFFFFFF << 1: low bits, or 0x7FFFFFFF / 0x80000000?",
    ),
    Reading(
        "vsl_count_33",
        "ee.vsl.32 with SAR = 33..63 (32 is measured: saturation).",
        "saturate",
        ("zero",),
        "Continues what was measured at 32: 0x7FFFFFFF for positive and 0x80000000 for negative words.",
        "ee.vsl.32, SAR = 32..63, words 0, 1, 0x12345678, 0x80000000, 0xFFFFFFFF.",
    ),
    Reading(
        "vmul_count_16",
        "ee.vmul.s8 with SAR = 16..31, at or above the 16 bits of the product.",
        "sign",
        ("zero",),
        _FILL_RULE,
        f"ee.vmul.s8, ee.vmul.u8. {_SWEEP}",
    ),
    Reading(
        "vmul_count_32",
        "ee.vmul.s8 with SAR = 33..63 and ee.vmul.s16 with SAR = 32..63 (s8 at 32 is measured: 0).",
        "zero",
        ("sign",),
        _ZERO_RULE,
        f"ee.vmul.s8, ee.vmul.s16, ee.vmul.u8, ee.vmul.u16. {_SWEEP}",
    ),
    Reading(
        "relu_count_16",
        "ee.vrelu.s8 and ee.vprelu.s8 with ay & 31 = 16..31, at or above the 16 bits of the product.",
        "sign",
        ("zero",),
        _FILL_RULE,
        f"ee.vrelu.s8, ee.vprelu.s8 with the count in ay. {_SWEEP}",
    ),
    Reading(
        "relu_count_32",
        "ee.vrelu.s16 and ee.vprelu.s16 with ay & 63 = 32..63, at or above the 32 bits of the product.",
        "zero",
        ("sign",),
        _ZERO_RULE,
        f"ee.vrelu.s16, ee.vprelu.s16 with the count in ay. {_SWEEP}",
    ),
    Reading(
        "complex_count_32",
        "ee.cmul, ee.fft.cmul and ee.fft.ams with SAR = 32..63.",
        "zero",
        ("sign",),
        _ZERO_RULE,
        f"ee.cmul.s16, ee.fft.cmul.s16.ld.xp, ee.fft.ams.s16.ld.incp. {_SWEEP}",
    ),
    Reading(
        "srs_count_40",
        "ee.srs.accx with a count of 40..63, at or above the 40 bits of ACCX.",
        "sign",
        ("zero",),
        _FILL_RULE,
        f"ee.srs.accx: result and ACCX. {_SWEEP}",
    ),
    Reading(
        "srcmb16_count_40",
        "ee.srcmb.s16.qacc with a count of 40..63, at or above the 40 bits of a lane.",
        "sign",
        ("zero",),
        _FILL_RULE,
        f"ee.srcmb.s16.qacc: result and QACC. {_SWEEP}",
    ),
    Reading(
        "srcmb8_count_20",
        "ee.srcmb.s8.qacc with a count of 20..31, at or above the 20 bits of a lane.",
        "sign",
        ("zero",),
        _FILL_RULE,
        f"ee.srcmb.s8.qacc: result and QACC. {_SWEEP}",
    ),
    Reading(
        "lane_lower_clamp",
        "Lower limit of ee.vadds.s16/s32 and ee.vsubs.s8/s16/s32 (ee.vadds.s8 is measured: -128).",
        "minimum",
        ("minimum_plus_1",),
        "The manual gives -2^(n-1) and vadds.s8 does so on a chip; the vendor's emulator clamps at "
        "-(2^(n-1)-1) everywhere, which the measurement refutes for vadds.s8.",
        "Each instruction with lanes MIN - 1, MIN + MIN, and an exact sum of MIN.",
    ),
    Reading(
        "accumulator_lower_clamp",
        "Lower limit of the signed sums in ACCX (40 bits) and QACC (20 and 40 bits).",
        "minimum",
        ("minimum_plus_1",),
        "The manual gives -2^(n-1); the vendor's emulator clamps at -(2^(n-1)-1), the same bug that is "
        "refuted for vadds.s8.",
        "Drive vmulas.s8.qacc, vmulas.s16.qacc, vmulas.s8.accx and vmulas.s16.accx to the negative limit "
        "and read the lanes with rur.",
    ),
    Reading(
        "complex_sum_width",
        "Width of the sum of two products before the shift in ee.cmul, ee.fft.cmul and ee.fft.ams.",
        "wide",
        ("wrap32",),
        "The formulas of the manual have no limit; the vendor's emulator uses 32 bits in cmul and 64 in "
        "fft.cmul. In cmul only four inputs of -32768 can tell.",
        "qx = qy = all -32768, SAR = 17 and 31, look at the imaginary lanes.",
    ),
    Reading(
        "xq_index",
        "Index lane of ee.ldxq.32 and ee.stxq.32 with bit 15 set.",
        "unsigned",
        ("signed",),
        "The manual shows a 16-bit field times 4 without a word on a sign. The emulator's signed index comes "
        "with a subtraction of 4 that measurements refute, so it has little weight.",
        "Index 0xFFFF and 0x8000 with different words at both candidate addresses.",
    ),
    Reading(
        "relu_multiplier",
        "Which bits of ax ee.vrelu.s8/s16 multiply with, and their sign.",
        "low_signed",
        ("low_unsigned", "wide"),
        "The manual names ax[7:0] and ax[15:0] and the other factor is signed. wide: the emulator's ax[15:0] "
        "and ax[31:0], signed.",
        "ax = 0x80, 0x180, 0xFF80 (s8) and 0x8000, 0x18000 (s16) on negative lanes.",
    ),
    Reading(
        "same_destination",
        "Two results of one instruction in one register (only hand-made encodings; the assembler refuses).",
        "last_write",
        ("illegal",),
        "Order: arithmetic results as the manual lists them, then the loaded data, then the pointer, as the "
        "emulator does. Nothing is known of the chip.",
        "Hand-made words: vadds.s8.ld.incp with qu = qa, vzip.8 with qs0 = qs1, src.q.ld.ip with qu = qs0.",
    ),
    Reading(
        "fft_cmul_ld_select",
        "ee.fft.cmul.s16.ld.xp with sel8 = 6 and 7, which the manual leaves out.",
        "unchanged",
        ("lanes_6_7",),
        "The emulator leaves qz unchanged; no other source.",
        "All eight values of sel8 on one input.",
    ),
    Reading(
        "fft_cmul_st_select",
        "ee.fft.cmul.s16.st.xp with sel8 = 0..5, which the manual leaves out.",
        "own_lanes",
        ("lanes_6_7",),
        "The emulator computes from lanes 2*(sel8>>1) as the load form does; no other source.",
        "All eight values of sel8 on one input.",
    ),
    Reading(
        "fft_cmul_st_update",
        "ee.fft.cmul.s16.st.xp with upd4 = 3, which the manual leaves out.",
        "zeros",
        ("like_0", "like_1", "like_2"),
        "The emulator stores zeros; no other source.",
        "All four values of upd4 on one input.",
    ),
    Reading(
        "ams_sum_width",
        "Width of the sum and the difference that ee.fft.ams multiplies.",
        "wide",
        ("wrap16", "saturate16"),
        "The manual limits the two added results to 16 bits but not the two factors, and the emulator keeps "
        "17 bits. Against it: the tool tables list 16x16 multipliers and 16-bit adders.",
        "qx, qy lanes near +-32767 with opposite signs, qm = 16384, SAR = 15.",
    ),
    Reading(
        "r2bf_sum_width",
        "Width of the sum that ee.fft.r2bf.s16.st.incp shifts by sar4.",
        "wide",
        ("wrap16",),
        "The emulator keeps 17 bits and the tool tables list 32-bit adders for this instruction.",
        "qx = qy = 0x7FFF and 0x8000 in turn, sar4 = 1.",
    ),
    Reading(
        "fft_vst_shift",
        "The shift of ee.fft.vst.r32.decp with sar2 = 1.",
        "arithmetic_half",
        ("logical_word",),
        "The manual shifts each 16-bit half arithmetically; the emulator shifts whole words logically.",
        "qv with negative halves and odd upper halves, sar2 = 1.",
    ),
    Reading(
        "bitrev_width",
        "The width that a value of FFT_BIT_WIDTH stands for in ee.bitrev.",
        "zero_is_8",
        ("as_it_stands", "plus_3"),
        "The manual contradicts itself: the instruction compares the register with 3..10, the register's own "
        "section says that 0..7 mean 3..10. The emulator takes the value as it stands. A program that never "
        "wrote the register got width 8 on a chip, so it resets to 8, or to 5 (plus_3), or 0 means 8.",
        "Read the register after reset (8, 5 or 0?); write 0..15 and run ee.bitrev on ax = 0.",
    ),
    Reading(
        "bitrev_width_3",
        "Lanes 6 and 7 of ee.bitrev when FFT_BIT_WIDTH is 3.",
        "zero",
        ("computed",),
        "The manual gives lanes 0..5 and zeros above; the emulator computes all eight.",
        "FFT_BIT_WIDTH = 3, ax = 0 and 8, all lanes.",
    ),
    Reading(
        "st_accx_sign",
        "Upper 24 bits that ee.st.accx.ip stores for a negative ACCX.",
        "zero_extended",
        ("sign_extended",),
        "The manual and the newer emulator zero-extend.",
        "Store ACCX = -1.",
    ),
    Reading(
        "rur_accx_1",
        "Upper 24 bits that rur.accx_1 returns for a negative ACCX.",
        "zero_extended",
        ("sign_extended",),
        "The manual returns bits 39..32 zero-extended, and a published probe on a chip read 0x000000FF for "
        "ACCX = -1.",
        "ACCX = -1, read rur.accx_1.",
    ),
    Reading(
        "float_pair_coprocessor",
        "Which bit of CPENABLE enables ee.ldf.* and ee.stf.*.",
        "cp0",
        ("cp3",),
        "They touch f registers only, and those belong to coprocessor 0.",
        "Clear bit 0 and bit 3 of CPENABLE in turn.",
    ),
)

READINGS: Mapping[str, Reading] = MappingProxyType({reading.name: reading for reading in _TABLE})
"""All contested facts by name."""


def choose(overrides: Mapping[str, str] | None = None) -> Mapping[str, str]:
    """The reading of every fact: the chosen ones, replaced by ``overrides`` (fact name to reading).

    Raises ReadingError for a name or a reading that is not in the table.
    """
    chosen = {name: reading.chosen for name, reading in READINGS.items()}
    for name, value in (overrides or {}).items():
        chosen[name] = _checked(name, value)
    return MappingProxyType(chosen)


def parse(options: Iterable[str]) -> dict[str, str]:
    """Overrides from ``name=reading`` texts; raises ReadingError for one that does not fit."""
    pairs = [option.partition("=") for option in options]
    return {name.strip(): _checked(name.strip(), value.strip()) for name, _, value in pairs}


def _checked(name: str, value: str) -> str:
    if name not in READINGS:
        raise ReadingError(f"no contested fact is called {name!r}; there are: {', '.join(READINGS)}")
    if value not in READINGS[name].choices:
        choices = ", ".join(READINGS[name].choices)
        raise ReadingError(f"contested fact {name}: no reading {value!r}; choose one of {choices}")
    return value


_HEAD = """# Contested facts

Facts about the instruction set that documents, tool tables and published measurements leave open or disagree
on. The emulator follows the chosen reading; every other one can be selected by name. A run whose result
depends on one of them reports it: the stepper exactly (a fact counts when another reading would have given
another result there), translated code by the instructions in it that *may* depend on one (`emu run`,
`Engine.contested()`); `--tier stepper`, or `emu verify --check` for its examples, then tells whether they
did. This page is printed by `python -m emu.cpu.readings`; do not edit it.

"Measured" means on a real chip, published with inputs and outputs. What was measured is followed without an
option.

Settled by the tool tables and by shipped kernels, so without an option: `ee.src.q` leaves qs0 alone (only the
`.qup` forms change it); a fused load into `qs1` does not change what the same instruction's QUP shifts (all
sources are read before anything is written).
"""


def page() -> str:
    """The table as Markdown, the text of docs/contested.md."""
    return _HEAD + "".join(_section(reading) for reading in READINGS.values())


def _section(reading: Reading) -> str:
    others = ", ".join(f"`{other}`" for other in reading.alternatives)
    return (
        f"\n## {reading.name}\n\n{reading.fact}\n\n"
        f"- chosen: `{reading.chosen}`; alternatives: {others}\n"
        f"- why: {reading.reason}\n- board test: {reading.board_test}\n"
    )


if __name__ == "__main__":
    print(page(), end="")
