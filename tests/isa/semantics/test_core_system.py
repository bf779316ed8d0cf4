"""Exceptions, interrupt levels, debug instructions and what is asked of the engine."""

from __future__ import annotations

import pytest
from instruction_driver import CODE, DATA, Cpu, check, check_raises

from emu.cpu.machine import Cause

TO = CODE + 0x200

RAISES = [
    ("ill", {}, Cause.ILLEGAL_INSTRUCTION),
    ("ill.n", {}, Cause.ILLEGAL_INSTRUCTION),
    ("syscall", {}, Cause.SYSCALL),
    ("rfi 0", {}, Cause.ILLEGAL_INSTRUCTION),
    ("rfi 1", {}, Cause.ILLEGAL_INSTRUCTION),
    ("rfi 8", {}, Cause.ILLEGAL_INSTRUCTION),
    ("break 1, 15", {"PSINTLEVEL": 5}, Cause.DEBUG_BREAK),
    ("break.n 3", {"PSINTLEVEL": 0}, Cause.DEBUG_BREAK),
    ("rfdo 0", {}, Cause.ILLEGAL_INSTRUCTION),
    ("rfdd", {}, Cause.ILLEGAL_INSTRUCTION),
    ("lddr32.p a3", {"a3": DATA}, Cause.ILLEGAL_INSTRUCTION),
    ("sddr32.p a3", {"a3": DATA}, Cause.ILLEGAL_INSTRUCTION),
]


@pytest.mark.parametrize(("text", "given", "cause"), RAISES)
def test_raises(text, given, cause):
    check_raises(text, {"InOCDMode": 0} | given, cause)


EFFECTS = [
    ("rfe", {"PSEXCM": 1, "EPC1": TO}, {"PSEXCM": 0}, TO),
    ("rfde", {"PSEXCM": 1, "DEPC": TO}, {}, TO),
    ("break 1, 15", {"PSINTLEVEL": 6}, {}, None),
    ("break.n 3", {"PSINTLEVEL": 15}, {}, None),
    ("rsil a3, 7", {"PSINTLEVEL": 2, "PSEXCM": 0, "PSUM": 1, "PSOWB": 5, "PSCALLINC": 2, "PSWOE": 1},
     {"a3": 0x60522, "PSINTLEVEL": 7}, None),
    ("rsil a3, 0", {"PSINTLEVEL": 15, "PSEXCM": 1, "PSUM": 0, "PSOWB": 0, "PSCALLINC": 0, "PSWOE": 0},
     {"a3": 0x1F, "PSINTLEVEL": 0}, None),
    ("rfdo 0", {"InOCDMode": 1, "EPC6": TO, "EPS6": 0x1FFF},
     {"InOCDMode": 0, "PSINTLEVEL": 15, "PSEXCM": 1, "PSUM": 1, "PSOWB": 15, "PSCALLINC": 3, "PSWOE": 1}, TO),
    ("lddr32.p a3", {"InOCDMode": 1, "a3": DATA, f"[{DATA:#x}]": 77}, {"a3": DATA + 4, "DDR": 77}, None),
    ("sddr32.p a3", {"InOCDMode": 1, "a3": DATA, "DDR": 78}, {"a3": DATA + 4, f"[{DATA:#x}]": 78}, None),
]  # fmt: skip


@pytest.mark.parametrize(("text", "given", "expected", "pc"), EFFECTS)
def test_effect(text, given, expected, pc):
    check(text, given, expected, pc)


@pytest.mark.parametrize("level", range(2, 8))
def test_rfi(level):
    """EPS keeps PS without its gaps: CALLINC 2, OWB 9, UM 1, INTLEVEL 3."""
    packed = 2 << 10 | 9 << 6 | 1 << 5 | 3
    given = {f"EPS{level}": packed, f"EPC{level}": TO, "PSEXCM": 1, "PSWOE": 1}
    expected = {"PSINTLEVEL": 3, "PSEXCM": 0, "PSUM": 1, "PSOWB": 9, "PSCALLINC": 2, "PSWOE": 0}
    check(f"rfi {level}", given, expected, TO)


# What is asked of the engine: name, values, and where the answer (0x5E41CE01 here) goes.
SERVICES = [
    ("waiti 3", {"PSINTLEVEL": 9}, ("waiti", (3,)), {"PSINTLEVEL": 3}),
    ("simcall", {}, ("simcall", ()), {}),
    ("rfdd", {"InOCDMode": 1}, ("rfdd", ()), {}),
    ("rer a3, a4", {"a4": 0x10}, ("rer", (0x10,)), {"a3": 0x5E41CE01}),
    ("wer a3, a4", {"a3": 5, "a4": 0x10}, ("wer", (0x10, 5)), {}),
    ("iitlb a4", {"a4": 9}, ("iitlb", (9,)), {}),
    ("idtlb a4", {"a4": 9}, ("idtlb", (9,)), {}),
    ("witlb a3, a4", {"a3": 1, "a4": 9}, ("witlb", (1, 9)), {}),
    ("wdtlb a3, a4", {"a3": 1, "a4": 9}, ("wdtlb", (1, 9)), {}),
    ("ritlb0 a3, a4", {"a4": 9}, ("ritlb0", (9,)), {"a3": 0x5E41CE01}),
    ("ritlb1 a3, a4", {"a4": 9}, ("ritlb1", (9,)), {"a3": 0x5E41CE01}),
    ("rdtlb0 a3, a4", {"a4": 9}, ("rdtlb0", (9,)), {"a3": 0x5E41CE01}),
    ("rdtlb1 a3, a4", {"a4": 9}, ("rdtlb1", (9,)), {"a3": 0x5E41CE01}),
    ("pitlb a3, a4", {"a4": 9}, ("pitlb", (9,)), {"a3": 0x5E41CE01}),
    ("pdtlb a3, a4", {"a4": 9}, ("pdtlb", (9,)), {"a3": 0x5E41CE01}),
]


@pytest.mark.parametrize(("text", "given", "asked", "expected"), SERVICES)
def test_service(text, given, asked, expected):
    cpu = Cpu()
    for name, value in given.items():
        cpu.set(name, value)
    cpu.run(text)
    assert cpu.services == [asked]
    check(text, given, expected)


@pytest.mark.parametrize(
    "text", ["add.s f0, f1, f2", "rur.fcr a3", "wur.fsr a3", "lsi f0, a3, 0", "mul.s f0, f1, f2"]
)
def test_fpu_disabled(text):
    """B024, B047: cause 32 while bit 0 of CPENABLE is clear, whatever the other bits are."""
    check_raises(text, {"CPENABLE": 0xFE, "a3": DATA}, Cause.COPROCESSOR0_DISABLED)


@pytest.mark.parametrize("text", ["rur.accx_0 a3", "wur.sar_byte a3"])
def test_pie_disabled(text):
    check_raises(text, {"CPENABLE": 0xF7}, Cause.COPROCESSOR3_DISABLED)


@pytest.mark.parametrize("text", ["rur.threadptr a3", "rur.gpio_out a3", "oeq.s b0, f1, f2", "rur.accx_0 a3"])
def test_registers_that_need_less(text):
    """THREADPTR and GPIO_OUT belong to no coprocessor; each coprocessor needs only its own bit."""
    cpu = Cpu()
    bit = {"oeq.s b0, f1, f2": 1, "rur.accx_0 a3": 8}.get(text, 0)
    cpu.state.CPENABLE = bit
    cpu.run(text)
    assert cpu.state.PSEXCM == 0


def test_coprocessors_are_enabled_at_reset():
    """B047: CPENABLE reads 0xFF at program start on the chip."""
    from emu.cpu import state_tools

    cpu = Cpu()
    state_tools.reset(cpu.state)
    assert cpu.state.CPENABLE == 0xFF
