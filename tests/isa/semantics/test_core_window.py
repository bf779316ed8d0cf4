"""Window instructions and their exceptions; deep call chains with every frame checked (B045)."""

from __future__ import annotations

import pytest
from instruction_driver import CODE, DATA, Cpu, assemble, check, check_raises

from emu.cpu.machine import Cause

TO = CODE + 0x100
NEXT = (CODE + 3) & 0x3FFFFFFF

CALLS = [
    (f"call4 {TO:#x}", {}, {"a4": NEXT | 1 << 30, "PSCALLINC": 1}),
    (f"call8 {TO:#x}", {}, {"a8": NEXT | 2 << 30, "PSCALLINC": 2}),
    (f"call12 {TO:#x}", {}, {"a12": NEXT | 3 << 30, "PSCALLINC": 3}),
    ("callx4 a6", {"a6": TO}, {"a4": NEXT | 1 << 30, "PSCALLINC": 1}),
    ("callx8 a8", {"a8": TO}, {"a8": NEXT | 2 << 30, "PSCALLINC": 2}),
    ("callx12 a2", {"a2": TO}, {"a12": NEXT | 3 << 30, "PSCALLINC": 3}),
]


@pytest.mark.parametrize(("text", "given", "expected"), CALLS)
def test_call(text, given, expected):
    check(text, given, expected, TO)


def _entered(callinc: int, s: int, base: int) -> tuple[dict[str, int], dict[str, int]]:
    given = {"WindowBase": base, "WindowStart": 1 << base, "PSCALLINC": callinc}
    new = (base + callinc) & 15
    expected = {
        "WindowBase": new,
        "WindowStart": 1 << base | 1 << new,
        f"a{4 * callinc + s}": (DATA + 0x100 - 32) & 0xFFFFFFFF,
    }
    return given | {f"a{s}": DATA + 0x100}, expected


@pytest.mark.parametrize("base", [0, 7, 13, 15])
@pytest.mark.parametrize("callinc", [1, 2, 3])
@pytest.mark.parametrize("s", [1, 3])
def test_entry_moves_the_window(callinc, s, base):
    given, expected = _entered(callinc, s, base)
    check(f"entry a{s}, 32", given, expected)


ILLEGAL_ENTRY = [("entry a4, 32", {}), ("entry a1, 32", {"PSWOE": 0}), ("entry a1, 32", {"PSEXCM": 1})]


@pytest.mark.parametrize(("text", "given"), ILLEGAL_ENTRY)
def test_entry_is_illegal(text, given):
    check_raises(text, given, Cause.ILLEGAL_INSTRUCTION)


def test_entry_subtracts_the_largest_frame():
    check(
        "entry a1, 32760",
        {"WindowBase": 0, "WindowStart": 1, "PSCALLINC": 2, "a1": DATA},
        {"WindowBase": 2, "WindowStart": 5, "a9": DATA - 32760},
    )


@pytest.mark.parametrize("text", ["retw", "retw.n"])
@pytest.mark.parametrize("step", [1, 2, 3])
@pytest.mark.parametrize("base", [1, 5, 15])
def test_return(text, step, base):
    caller = (base - step) & 15
    check(
        text,
        {
            "WindowBase": base,
            "WindowStart": 1 << base | 1 << caller,
            "a0": step << 30 | 0x380200,
            "PSCALLINC": 0,
        },
        {"WindowBase": caller, "WindowStart": 1 << caller, "PSCALLINC": step},
        pc=CODE & 0xC0000000 | 0x380200,
    )


@pytest.mark.parametrize(
    ("step", "cause"),
    [(1, Cause.WINDOW_UNDERFLOW4), (2, Cause.WINDOW_UNDERFLOW8), (3, Cause.WINDOW_UNDERFLOW12)],
)
def test_return_underflow(step, cause):
    given = {"WindowBase": 2, "WindowStart": 4, "a0": step << 30 | 0x380200}
    check_raises("retw", given, cause)


ILLEGAL_RETURN = [
    {"a0": 0x380200},
    {"a0": 0x80380200, "PSWOE": 0},
    {"a0": 0x80380200, "PSEXCM": 1},
    # The caller's frame starts one pane below, a0 says two.
    {"a0": 0x80380200, "WindowBase": 4, "WindowStart": 0b11000},
    # Two frames near: the nearer one counts.
    {"a0": 0xC0380200, "WindowBase": 4, "WindowStart": 0b10110},
]


@pytest.mark.parametrize("given", ILLEGAL_RETURN)
def test_return_is_illegal(given):
    check_raises("retw", {"WindowBase": 4, "WindowStart": 0b10100} | given, Cause.ILLEGAL_INSTRUCTION)


@pytest.mark.parametrize(("text", "starts"), [("rfwo", 0b10001), ("rfwu", 0b10101)])
def test_return_from_window_handlers(text, starts):
    given = {"WindowBase": 2, "PSOWB": 9, "PSEXCM": 1, "EPC1": TO}
    given["WindowStart"] = 0b10101 if text == "rfwo" else 0b10001
    check(text, given, {"WindowBase": 9, "WindowStart": starts, "PSEXCM": 0}, TO)


@pytest.mark.parametrize(("amount", "base"), [(7, 9), (-8, 10), (-3, 15), (0, 2)])
def test_rotw(amount, base):
    check(f"rotw {amount}", {"WindowBase": 2}, {"WindowBase": base})


@pytest.mark.parametrize("below", [1, 2, 3])
def test_movsp_moves_while_the_caller_is_in_registers(below):
    given = {"WindowBase": 1, "WindowStart": 2 | 1 << ((1 - below) & 15), "a4": 77}
    check("movsp a1, a4", given, {"a1": 77})


def test_movsp_asks_for_help_when_the_caller_was_spilled():
    check_raises("movsp a1, a4", {"WindowBase": 5, "WindowStart": 1 << 5 | 1 << 1}, Cause.ALLOCA)


# --- chains: with the built-in spill and fill, every frame keeps its registers (B045) ------------------
FRAME = 64
"""Room for the 16 bytes of a base save area and the 32 that a call12 frame spills beside it."""


def _chain_code(call: str, step: int, with_movsp: bool) -> list[str]:
    """f(a2 = depth): fill a3..a7 from the depth, call deeper while depth > 0, sum up what came through."""
    out = 4 * step
    pieces = [f"entry a1, {FRAME}"]
    pieces += [f"addi a{n}, a2, {n}" for n in range(3, 4 * min(step, 2))]
    pieces += ["movsp a1, a1"] if with_movsp else []
    return [*pieces, "beqz a2, {end}", f"addi a{out + 2}, a2, -1", f"mov.n a{out + 1}, a1", call]


@pytest.mark.parametrize("with_movsp", [False, True])
@pytest.mark.parametrize("step", [1, 2, 3])
@pytest.mark.parametrize("depth", [0, 1, 5, 12, 40])
def test_call_chain(step, depth, with_movsp):
    """Each frame checks on return that its a3.. still are depth + n."""
    cpu = Cpu()
    cpu.stepper.use_vectors = False
    registers = range(3, 4 * min(step, 2))
    body = _chain_code(f"call{4 * step} {CODE + 0x40:#x}", step, with_movsp)
    check_code = [f"addi a{n}, a{n}, {-n}" for n in registers]
    # A frame that lost a register branches to the failure address.
    check_code += [f"bne a{n}, a2, {{fail}}" for n in registers]
    place, texts = CODE + 0x40, [*body, *check_code]
    sizes = [len(assemble(t.format(end=CODE + 0x41, fail=CODE + 0x41), place)) for t in texts]
    end = place + sum(sizes)
    at = place
    for text, size in zip(texts, sizes, strict=True):
        cpu.memory.write(at, assemble(text.format(end=end, fail=CODE + 0x20), at))
        at += size
    cpu.memory.write(end, assemble("retw", end))
    cpu.memory.write(CODE, assemble(f"call{4 * step} {place:#x}", CODE))
    stack = DATA + 0xF00
    # The outermost frame's own caller, whose stack takes what that frame spills beyond a0..a3.
    cpu.set(f"[{stack - 12:#x}]", stack + 0x80)
    cpu.set("a1", stack)
    cpu.set(f"a{4 * step + 1}", stack)
    cpu.set(f"a{4 * step + 2}", depth)
    kept = [cpu.get(f"a{n}") for n in range(4)]
    cpu.state.budget = 100_000
    while cpu.state.PC != CODE + 3:
        assert cpu.state.PC != CODE + 0x20, "a frame lost a register"
        cpu.stepper.step()
    assert [cpu.get(f"a{n}") for n in range(4)] == kept
    assert (cpu.state.WindowBase, cpu.state.WindowStart) == (0, 1)
