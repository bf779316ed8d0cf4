"""Branches, jumps, loops (B008) and calls without window."""

from __future__ import annotations

import pytest
from instruction_driver import CODE, Cpu, assemble, check

MIN, MAX, M1 = 0x80000000, 0x7FFFFFFF, 0xFFFFFFFF
TO = CODE + 0x20

TAKEN, NOT = True, False
BRANCHES = [
    ("beqz a3", {"a3": 0}, TAKEN),
    ("beqz a3", {"a3": MIN}, NOT),
    ("bnez a3", {"a3": MIN}, TAKEN),
    ("bnez a3", {"a3": 0}, NOT),
    ("bltz a3", {"a3": MIN}, TAKEN),
    ("bltz a3", {"a3": 0}, NOT),
    ("bgez a3", {"a3": 0}, TAKEN),
    ("bgez a3", {"a3": M1}, NOT),
    ("beqz.n a3", {"a3": 0}, TAKEN),
    ("beqz.n a3", {"a3": 1}, NOT),
    ("bnez.n a3", {"a3": 1}, TAKEN),
    ("bnez.n a3", {"a3": 0}, NOT),
    ("beqi a3, -1", {"a3": M1}, TAKEN),
    ("beqi a3, 256", {"a3": 255}, NOT),
    ("bnei a3, 256", {"a3": 255}, TAKEN),
    ("bnei a3, -1", {"a3": M1}, NOT),
    ("blti a3, -1", {"a3": MIN}, TAKEN),
    ("blti a3, 256", {"a3": 256}, NOT),
    ("bgei a3, 256", {"a3": 256}, TAKEN),
    ("bgei a3, 1", {"a3": M1}, NOT),
    ("bltui a3, 32768", {"a3": 32767}, TAKEN),
    ("bltui a3, 65536", {"a3": M1}, NOT),
    ("bgeui a3, 65536", {"a3": M1}, TAKEN),
    ("bgeui a3, 32768", {"a3": 32767}, NOT),
    ("beq a3, a4", {"a3": 7, "a4": 7}, TAKEN),
    ("beq a3, a4", {"a3": 7, "a4": 8}, NOT),
    ("bne a3, a4", {"a3": 7, "a4": 8}, TAKEN),
    ("bne a3, a4", {"a3": 7, "a4": 7}, NOT),
    ("blt a3, a4", {"a3": M1, "a4": 0}, TAKEN),
    ("blt a3, a4", {"a3": 0, "a4": M1}, NOT),
    ("bge a3, a4", {"a3": 0, "a4": M1}, TAKEN),
    ("bge a3, a4", {"a3": MIN, "a4": MAX}, NOT),
    ("bltu a3, a4", {"a3": 0, "a4": M1}, TAKEN),
    ("bltu a3, a4", {"a3": M1, "a4": 0}, NOT),
    ("bgeu a3, a4", {"a3": M1, "a4": 0}, TAKEN),
    ("bgeu a3, a4", {"a3": 0, "a4": 1}, NOT),
    ("bany a3, a4", {"a3": 6, "a4": 3}, TAKEN),
    ("bany a3, a4", {"a3": 4, "a4": 3}, NOT),
    ("bnone a3, a4", {"a3": 4, "a4": 3}, TAKEN),
    ("bnone a3, a4", {"a3": 6, "a4": 3}, NOT),
    ("ball a3, a4", {"a3": 7, "a4": 5}, TAKEN),
    ("ball a3, a4", {"a3": 6, "a4": 5}, NOT),
    ("bnall a3, a4", {"a3": 6, "a4": 5}, TAKEN),
    ("bnall a3, a4", {"a3": 7, "a4": 5}, NOT),
    ("bbs a3, a4", {"a3": 1, "a4": 32}, TAKEN),
    ("bbs a3, a4", {"a3": 1, "a4": 31}, NOT),
    ("bbc a3, a4", {"a3": MAX, "a4": 31}, TAKEN),
    ("bbc a3, a4", {"a3": 2, "a4": 33}, NOT),
    ("bbsi a3, 31", {"a3": MIN}, TAKEN),
    ("bbsi a3, 0", {"a3": MIN}, NOT),
    ("bbci a3, 0", {"a3": MIN}, TAKEN),
    ("bbci a3, 31", {"a3": MIN}, NOT),
]


@pytest.mark.parametrize(("text", "given", "taken"), BRANCHES)
def test_branch(text, given, taken):
    check(f"{text}, {TO:#x}", given, {}, pc=TO if taken else None)


def test_branch_backwards():
    cpu = Cpu()
    cpu.memory.write(CODE + 0x80, assemble(f"beqz a3, {CODE:#x}", CODE + 0x80))
    cpu.state.PC = CODE + 0x80
    cpu.set("a3", 0)
    cpu.stepper.step()
    assert cpu.state.PC == CODE


JUMPS = [
    (f"j {TO:#x}", {}, {}, TO),
    ("jx a3", {"a3": TO}, {}, TO),
    ("jx a0", {"a0": TO}, {}, TO),
    (f"call0 {TO:#x}", {"a0": 5}, {"a0": CODE + 3}, TO),
    ("callx0 a3", {"a0": 5, "a3": TO}, {"a0": CODE + 3}, TO),
    ("callx0 a0", {"a0": TO}, {"a0": CODE + 3}, TO),
    ("ret", {"a0": TO}, {}, TO),
    ("ret.n", {"a0": TO}, {}, TO),
]


@pytest.mark.parametrize(("text", "given", "expected", "pc"), JUMPS)
def test_jump(text, given, expected, pc):
    check(text, given, expected, pc)


LEND = CODE + 0x23
LOOPS = [
    # as, entered, LCOUNT
    ("loop", 5, True, 4),
    ("loop", 1, True, 0),
    ("loop", 0, True, M1),
    ("loopnez", 5, True, 4),
    ("loopnez", 0, False, M1),
    ("loopnez", M1, True, 0xFFFFFFFE),
    ("loopgtz", 5, True, 4),
    ("loopgtz", 0, False, M1),
    ("loopgtz", M1, False, 0xFFFFFFFE),
    ("loopgtz", MIN, False, MAX),
]


@pytest.mark.parametrize(("name", "count", "entered", "lcount"), LOOPS)
def test_loop_registers(name, count, entered, lcount):
    """B008: LBEG is the next instruction, LEND the label itself, and the registers are set even when
    skipped.
    """
    given = {"a3": count, "LBEG": 1, "LEND": 2, "LCOUNT": 0}
    expected = {"LBEG": CODE + 3, "LEND": LEND, "LCOUNT": lcount}
    check(f"{name} a3, {LEND:#x}", given, expected, None if entered else LEND)


def test_loop_end_is_the_label():
    """B008 (1): the immediate i gives LEND = P + 4 + i, at both ends of its range."""
    for distance in (4, 259):
        check(
            f"loop a3, {CODE + distance:#x}",
            {"a3": 1, "LBEG": 0, "LEND": 0, "LCOUNT": 9},
            {"LBEG": CODE + 3, "LEND": CODE + distance, "LCOUNT": 0},
        )


def _count_loop(name: str, count: int) -> int:
    """Body: add 1, leave at 5 by a branch. Returns how often the body ran."""
    cpu = Cpu()
    out = CODE + 0x40
    at = CODE
    for text in (f"{name} a8, {CODE + 9:#x}", "addi a9, a9, 1", f"beqi a9, 5, {out:#x}"):
        data = assemble(text, at)
        cpu.memory.write(at, data)
        at += len(data)
    cpu.memory.write(at, assemble(f"j {out:#x}", at))
    cpu.set("a8", count)
    cpu.set("a9", 0)
    while out != cpu.state.PC:
        cpu.stepper.step()
    return cpu.get("a9")


ITERATIONS = [("loop", 3, 3), ("loop", 0, 5), ("loopnez", 0, 0), ("loopnez", M1, 5), ("loopgtz", M1, 0)]


@pytest.mark.parametrize(("name", "count", "times"), ITERATIONS)
def test_loop_iterations(name, count, times):
    """B008 (2): plain loop enters with 0 (LCOUNT wraps), the other two skip."""
    assert _count_loop(name, count) == times


@pytest.mark.parametrize("taken", [True, False])
def test_a_taken_branch_to_the_loop_end_leaves_the_loop(taken):
    """B008 (3): only falling through to LEND repeats."""
    cpu = Cpu()
    end = CODE + 9
    cpu.load(f"loop a8, {end:#x}", "addi a9, a9, 1", f"beqz a10, {end:#x}", f"j {CODE + 0x40:#x}")
    cpu.set("a8", 3)
    cpu.set("a9", 0)
    cpu.set("a10", 0 if taken else 1)
    while cpu.state.PC != CODE + 0x40:
        cpu.stepper.step()
    assert cpu.get("a9") == (1 if taken else 3)


def test_nothing_loops_in_exception_mode():
    cpu = Cpu()
    end = CODE + 6
    cpu.load(f"loop a8, {end:#x}", "addi a9, a9, 1")
    cpu.set("a8", 3)
    cpu.set("a9", 0)
    cpu.state.PSEXCM = 1
    cpu.stepper.step()
    cpu.stepper.step()
    assert (cpu.state.PC, cpu.get("a9"), cpu.state.LCOUNT) == (end, 1, 2)
