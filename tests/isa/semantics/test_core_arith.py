"""Integer instructions, one line a case: text, registers before, registers after."""

from __future__ import annotations

import pytest
from instruction_driver import check, check_raises

from emu.cpu.machine import Cause

MIN, MAX, M1 = 0x80000000, 0x7FFFFFFF, 0xFFFFFFFF

CASES = [
    # sums
    ("add a3, a4, a5", {"a4": 1, "a5": 2}, {"a3": 3}),
    ("add a3, a4, a5", {"a4": M1, "a5": 1}, {"a3": 0}),
    ("add a4, a4, a4", {"a4": MIN}, {"a4": 0}),
    ("add.n a3, a4, a5", {"a4": MAX, "a5": 1}, {"a3": MIN}),
    ("addi a3, a4, -128", {"a4": 0}, {"a3": 0xFFFFFF80}),
    ("addi a3, a4, 127", {"a4": M1}, {"a3": 126}),
    ("addmi a3, a4, -32768", {"a4": 0}, {"a3": 0xFFFF8000}),
    ("addmi a3, a4, 32512", {"a4": 1}, {"a3": 0x7F01}),
    ("addi.n a3, a4, -1", {"a4": 0}, {"a3": M1}),
    ("addi.n a3, a4, 15", {"a4": 1}, {"a3": 16}),
    ("addx2 a3, a4, a5", {"a4": 0xC0000001, "a5": 5}, {"a3": 0x80000007}),
    ("addx4 a3, a4, a5", {"a4": 0x40000001, "a5": 5}, {"a3": 9}),
    ("addx8 a3, a4, a5", {"a4": 3, "a5": M1}, {"a3": 23}),
    ("sub a3, a4, a5", {"a4": 0, "a5": 1}, {"a3": M1}),
    ("subx2 a3, a4, a5", {"a4": 3, "a5": 7}, {"a3": M1}),
    ("subx4 a3, a4, a5", {"a4": 3, "a5": 7}, {"a3": 5}),
    ("subx8 a3, a4, a5", {"a4": 0x20000000, "a5": 1}, {"a3": M1}),
    ("neg a3, a4", {"a4": MIN}, {"a3": MIN}),
    ("neg a3, a4", {"a4": 5}, {"a3": 0xFFFFFFFB}),
    ("abs a3, a4", {"a4": 0xFFFFFFFB}, {"a3": 5}),
    ("abs a3, a4", {"a4": MIN}, {"a3": MIN}),
    ("abs a3, a4", {"a4": MAX}, {"a3": MAX}),
    # logic and moves
    ("and a3, a4, a5", {"a4": 0xF0F0, "a5": 0xFF00}, {"a3": 0xF000}),
    ("or a3, a4, a5", {"a4": 0xF0F0, "a5": 0xFF00}, {"a3": 0xFFF0}),
    ("xor a3, a4, a5", {"a4": 0xF0F0, "a5": 0xFF00}, {"a3": 0x0FF0}),
    ("movi a3, -2048", {}, {"a3": 0xFFFFF800}),
    ("movi a3, 2047", {}, {"a3": 2047}),
    ("movi.n a3, -32", {}, {"a3": 0xFFFFFFE0}),
    ("movi.n a3, 95", {}, {"a3": 95}),
    ("mov.n a3, a4", {"a4": 7}, {"a3": 7}),
    ("nop", {}, {}),
    ("nop.n", {}, {}),
    ("moveqz a3, a4, a5", {"a3": 1, "a4": 2, "a5": 0}, {"a3": 2}),
    ("moveqz a3, a4, a5", {"a3": 1, "a4": 2, "a5": 9}, {"a3": 1}),
    ("movnez a3, a4, a5", {"a3": 1, "a4": 2, "a5": 9}, {"a3": 2}),
    ("movnez a3, a4, a5", {"a3": 1, "a4": 2, "a5": 0}, {"a3": 1}),
    ("movltz a3, a4, a5", {"a3": 1, "a4": 2, "a5": MIN}, {"a3": 2}),
    ("movltz a3, a4, a5", {"a3": 1, "a4": 2, "a5": 0}, {"a3": 1}),
    ("movgez a3, a4, a5", {"a3": 1, "a4": 2, "a5": 0}, {"a3": 2}),
    ("movgez a3, a4, a5", {"a3": 1, "a4": 2, "a5": M1}, {"a3": 1}),
    # minimum, maximum, comparison, width
    ("min a3, a4, a5", {"a4": MIN, "a5": MAX}, {"a3": MIN}),
    ("max a3, a4, a5", {"a4": MIN, "a5": MAX}, {"a3": MAX}),
    ("minu a3, a4, a5", {"a4": MIN, "a5": MAX}, {"a3": MAX}),
    ("maxu a3, a4, a5", {"a4": MIN, "a5": MAX}, {"a3": MIN}),
    ("salt a3, a4, a5", {"a4": M1, "a5": 0}, {"a3": 1}),
    ("salt a3, a4, a5", {"a4": 0, "a5": 0}, {"a3": 0}),
    ("saltu a3, a4, a5", {"a4": M1, "a5": 0}, {"a3": 0}),
    ("saltu a3, a4, a5", {"a4": 0, "a5": M1}, {"a3": 1}),
    ("clamps a3, a4, 7", {"a4": 128}, {"a3": 127}),
    ("clamps a3, a4, 7", {"a4": 0xFFFFFF7F}, {"a3": 0xFFFFFF80}),
    ("clamps a3, a4, 22", {"a4": MIN}, {"a3": 0xFFC00000}),
    ("clamps a3, a4, 22", {"a4": 0x3FFFFF}, {"a3": 0x3FFFFF}),
    ("sext a3, a4, 7", {"a4": 0x80}, {"a3": 0xFFFFFF80}),
    ("sext a3, a4, 7", {"a4": 0xFFFFFF7F}, {"a3": 0x7F}),
    ("sext a3, a4, 22", {"a4": 0x7FFFFF}, {"a3": M1}),
    ("nsa a3, a4", {"a4": 0}, {"a3": 31}),
    ("nsa a3, a4", {"a4": M1}, {"a3": 31}),
    ("nsa a3, a4", {"a4": 1}, {"a3": 30}),
    ("nsa a3, a4", {"a4": MIN}, {"a3": 0}),
    ("nsa a3, a4", {"a4": 0xFFFF0000}, {"a3": 15}),
    ("nsau a3, a4", {"a4": 0}, {"a3": 32}),
    ("nsau a3, a4", {"a4": 1}, {"a3": 31}),
    ("nsau a3, a4", {"a4": MIN}, {"a3": 0}),
    # setting SAR
    ("ssr a4", {"a4": 0xFFFFFFFF, "SAR": 0}, {"SAR": 31}),
    ("ssr a4", {"a4": 32, "SAR": 9}, {"SAR": 0}),
    ("ssl a4", {"a4": 0, "SAR": 0}, {"SAR": 32}),
    ("ssl a4", {"a4": 33, "SAR": 0}, {"SAR": 31}),
    ("ssl a4", {"a4": 31, "SAR": 0}, {"SAR": 1}),
    ("ssa8l a4", {"a4": 7, "SAR": 1}, {"SAR": 24}),
    ("ssa8l a4", {"a4": 4, "SAR": 1}, {"SAR": 0}),
    ("ssa8b a4", {"a4": 3, "SAR": 1}, {"SAR": 8}),
    ("ssa8b a4", {"a4": 4, "SAR": 1}, {"SAR": 32}),
    ("ssai 31", {"SAR": 0}, {"SAR": 31}),
    # shifting, also by the counts that only wsr.sar can set
    ("src a3, a4, a5", {"a4": 0x11223344, "a5": 0x55667788, "SAR": 0}, {"a3": 0x55667788}),
    ("src a3, a4, a5", {"a4": 0x11223344, "a5": 0x55667788, "SAR": 8}, {"a3": 0x44556677}),
    ("src a3, a4, a5", {"a4": 0x11223344, "a5": 0x55667788, "SAR": 32}, {"a3": 0x11223344}),
    ("src a3, a4, a5", {"a4": 0x11223344, "a5": 0x55667788, "SAR": 40}, {"a3": 0x00112233}),
    ("src a3, a4, a5", {"a4": MIN, "a5": 0, "SAR": 63}, {"a3": 1}),
    ("srl a3, a4", {"a4": MIN, "SAR": 31}, {"a3": 1}),
    ("srl a3, a4", {"a4": M1, "SAR": 32}, {"a3": 0}),
    ("srl a3, a4", {"a4": M1, "SAR": 63}, {"a3": 0}),
    ("sra a3, a4", {"a4": MIN, "SAR": 31}, {"a3": M1}),
    ("sra a3, a4", {"a4": MIN, "SAR": 40}, {"a3": M1}),
    ("sra a3, a4", {"a4": MAX, "SAR": 63}, {"a3": 0}),
    ("sll a3, a4", {"a4": 3, "SAR": 32}, {"a3": 3}),
    ("sll a3, a4", {"a4": 3, "SAR": 1}, {"a3": MIN}),
    ("sll a3, a4", {"a4": 3, "SAR": 0}, {"a3": 0}),
    ("sll a3, a4", {"a4": 0x100, "SAR": 36}, {"a3": 0x10}),
    ("slli a3, a4, 1", {"a4": 0x80000001}, {"a3": 2}),
    ("slli a3, a4, 31", {"a4": 3}, {"a3": MIN}),
    ("slli a3, a4, 32", {"a4": M1}, {"a3": 0}),
    ("srli a3, a4, 15", {"a4": MIN}, {"a3": 0x10000}),
    ("srli a3, a4, 0", {"a4": MIN}, {"a3": MIN}),
    ("srai a3, a4, 31", {"a4": MIN}, {"a3": M1}),
    ("srai a3, a4, 0", {"a4": MIN}, {"a3": MIN}),
    ("extui a3, a4, 4, 8", {"a4": 0x12345678}, {"a3": 0x67}),
    ("extui a3, a4, 31, 1", {"a4": MIN}, {"a3": 1}),
    ("extui a3, a4, 24, 16", {"a4": M1}, {"a3": 0xFF}),
    # multiplication and division
    ("mull a3, a4, a5", {"a4": 0x10001, "a5": 0x10001}, {"a3": 0x20001}),
    ("mull a3, a4, a5", {"a4": M1, "a5": M1}, {"a3": 1}),
    ("muluh a3, a4, a5", {"a4": M1, "a5": M1}, {"a3": 0xFFFFFFFE}),
    ("mulsh a3, a4, a5", {"a4": M1, "a5": M1}, {"a3": 0}),
    ("mulsh a3, a4, a5", {"a4": MIN, "a5": MIN}, {"a3": 0x40000000}),
    ("mul16s a3, a4, a5", {"a4": 0x12348000, "a5": 0x56788000}, {"a3": 0x40000000}),
    ("mul16s a3, a4, a5", {"a4": 0xFFFF, "a5": 2}, {"a3": 0xFFFFFFFE}),
    ("mul16u a3, a4, a5", {"a4": 0x1234FFFF, "a5": 0x5678FFFF}, {"a3": 0xFFFE0001}),
    ("quos a3, a4, a5", {"a4": 0, "a5": 255}, {"a3": 0}),
    ("quos a3, a4, a5", {"a4": M1, "a5": 255}, {"a3": 0}),
    ("quos a3, a4, a5", {"a4": 0xFFFFFF00, "a5": 255}, {"a3": M1}),
    ("quos a3, a4, a5", {"a4": 7, "a5": 0xFFFFFFFE}, {"a3": 0xFFFFFFFD}),
    ("quos a3, a4, a5", {"a4": MIN, "a5": M1}, {"a3": MIN}),
    ("rems a3, a4, a5", {"a4": MIN, "a5": M1}, {"a3": 0}),
    ("rems a3, a4, a5", {"a4": 0xFFFFFFF9, "a5": 2}, {"a3": M1}),
    ("rems a3, a4, a5", {"a4": 7, "a5": 0xFFFFFFFE}, {"a3": 1}),
    ("quou a3, a4, a5", {"a4": M1, "a5": 2}, {"a3": MAX}),
    ("quou a3, a4, a5", {"a4": 0, "a5": M1}, {"a3": 0}),
    ("remu a3, a4, a5", {"a4": M1, "a5": 10}, {"a3": 5}),
]


@pytest.mark.parametrize(("text", "given", "expected"), CASES)
def test_result(text, given, expected):
    check(text, given, expected)


DIVIDE_BY_ZERO = [f"{name} a3, a4, a5" for name in ("quos", "quou", "rems", "remu")]


def test_b048_against_exact_quotients():
    """Signed and unsigned, every pair of ends and neighbours: truncated towards zero, never floored."""
    ends = (0, 1, 2, 255, 256, MAX - 1, MAX, MIN, MIN + 1, 0xFFFFFF00, 0xFFFFFF01, M1 - 1, M1)
    for a in ends:
        for b in ends[1:]:
            x, y = (v - (1 << 32) if v >> 31 else v for v in (a, b))
            quotient = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
            signed = {"quos": quotient, "rems": x - quotient * y}
            for name, result in {**signed, "quou": a // b, "remu": a % b}.items():
                check(f"{name} a3, a4, a5", {"a4": a, "a5": b}, {"a3": result & M1})


@pytest.mark.parametrize("text", DIVIDE_BY_ZERO)
def test_division_by_zero_is_an_exception(text):
    check_raises(text, {"a4": 77, "a5": 0}, Cause.INTEGER_DIVIDE_BY_ZERO)


@pytest.mark.parametrize(
    "text", ["addx4 a4, a4, a4", "subx8 a4, a4, a4", "src a4, a4, a4", "mull a4, a4, a4"]
)
def test_result_may_be_a_source(text):
    value = 0x89ABCDEF
    results = {
        "addx4 a4, a4, a4": value * 5,
        "subx8 a4, a4, a4": value * 7,
        "src a4, a4, a4": value >> 12 | value << 20,
        "mull a4, a4, a4": value * value,
    }
    check(text, {"a4": value, "SAR": 12}, {"a4": results[text] & M1})


def test_both_lengths_of_nop_do_nothing():
    """The 4-byte nop shares its mnemonic with the 3-byte one: run its bytes."""
    from instruction_driver import CODE, Cpu

    from emu.cpu import state_tools
    from emu.isa.table import by_key

    cpu, twin = Cpu(), Cpu()
    cpu.memory.write(CODE, by_key()["nop/4"].match.to_bytes(4, "little"))
    cpu.stepper.step()
    assert cpu.state.PC == CODE + 4
    assert not state_tools.compare(cpu.state, twin.state, ignore=frozenset({"PC"}))
