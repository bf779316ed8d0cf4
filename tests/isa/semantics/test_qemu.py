"""The same code on QEMU, an engine that nobody here wrote: every register and byte must agree.

What is left out, and what QEMU does in another way, is listed with its reason in qemu_cases and
docs/isa-notes.md.
"""

from __future__ import annotations

import random

import fp_reference as ref
import pytest
import qemu_cases
from fp_code import DIVISION, ROOT, instructions
from fp_samples import SPECIAL, random_float
from qemu_program import (
    OUT_A,
    OUT_F,
    OUT_S,
    RECORD,
    STORED,
    Case,
    Program,
    buffer_address,
    run_qemu,
    run_stepper,
    why_not,
)

from emu.isa.table import rows

_WHY = why_not()
pytestmark = pytest.mark.skipif(bool(_WHY), reason=f"no comparison with QEMU: {_WHY}")

NAMES = {OUT_A + 4 * n: f"a{n}" for n in range(16)} | {OUT_F + 4 * n: f"f{n}" for n in range(16)}
NAMES |= {OUT_S + 4 * n: name for n, name in enumerate(STORED)}


def _differences(qemu: bytes, ours: bytes) -> dict[str, tuple[str, str]]:
    """Register or offset in the record: QEMU's value and ours."""
    words = range(0, RECORD, 4)
    pairs = [(at, qemu[at : at + 4][::-1].hex(), ours[at : at + 4][::-1].hex()) for at in words]
    return {NAMES.get(at, f"+{at:#x}"): (a, b) for at, a, b in pairs if a != b}


def _run_both(cases: list[Case]) -> tuple[bytes, bytes, Program]:
    program = Program(cases)
    qemu, status, messages = run_qemu(program)
    assert status == 0, f"qemu ended with status {status}: {messages}"
    assert len(qemu) == len(program.records)
    return qemu, run_stepper(program), program


def _blame(case: Case) -> str:
    """The first instruction of a straight line after which the two differ."""
    for length in range(len(case.code) + 1):
        part = Case(case.code[:length], case.registers, case.buffer, case.functions)
        qemu, ours, _ = _run_both([part])
        if found := _differences(qemu[:RECORD], ours[:RECORD]):
            text = case.code[length - 1] if length else "the frame of the test"
            return f"{text}: (QEMU, ours) {found}"
    return "only in company"


def _compare(kind: str, count: int, seed: int) -> int:
    """Run ``count`` cases; returns the number of instructions in them."""
    cases = list(qemu_cases.cases(kind, count, seed))
    qemu, ours, _ = _run_both(cases)
    for index, case in enumerate(cases):
        span = slice(index * RECORD, (index + 1) * RECORD)
        if qemu[span] != ours[span]:
            blame = _blame(case) if kind == "straight" else ""
            pytest.fail(
                f"{kind} case {index} of seed {seed}: {_differences(qemu[span], ours[span])}\n{blame}"
            )
    assert qemu == ours, "the stack differs"
    return sum(len(case.code) for case in cases)


def test_straight_lines():
    """6,000 and more random instructions of all 227 rows that a user program can run in a straight line."""
    executed = _compare("straight", 150, seed=1)
    print(f"{executed} instructions agree with QEMU")
    assert executed > 6000


def test_structured_programs():
    """Loops (also left by a branch to their end), branches, calls with and without windows."""
    executed = _compare("structured", 150, seed=1)
    print(f"{executed} instructions (each counted once, not per iteration) agree with QEMU")


def test_every_row_is_met_or_explained():
    named = {text.split()[0] for case in qemu_cases.cases("straight", 400, 1) for text in case.code}
    named |= {text.split()[0] for case in qemu_cases.cases("structured", 200, 1) for text in case.code}
    for case in qemu_cases.cases("structured", 200, 1):
        named |= {text.split()[0] for function in case.functions for text in function}
    named |= {"wur.fsr", "s32nb", "wur.fcr", "l32r", "rur.threadptr", "wur.threadptr"}
    unmet = {row.mnemonic for row in rows()} - named
    flows = {row.mnemonic for row in rows() if row.flow} | {"movsp", "rotw", "l32e", "s32e"}
    assert {name for name in unmet if name in flows} == {
        *("j", "jx", "rfe", "rfde", "rfi", "rfwo", "rfwu", "rfdo", "rfdd", "movsp", "rotw", "l32e", "s32e")
    }
    for name in sorted(unmet - flows):
        assert qemu_cases.REASONS.get(name), f"{name} is never compared and nothing says why"


@pytest.mark.parametrize("index", range(24))
def test_recursion(index):
    """Window spills and fills, depths 0 to 100, a program each because they share the stack.

    QEMU's core has 32 physical registers, so it spills more and earlier: what ours spilled must agree.
    """
    case = qemu_cases.recursion(index, seed=2)
    qemu, ours, _ = _run_both([case])
    assert qemu[:RECORD] == ours[:RECORD]
    spilled = [at for at in range(RECORD, len(ours), 4) if any(ours[at : at + 4])]
    assert all(qemu[at : at + 4] == ours[at : at + 4] for at in spilled)
    deep = int(case.code[0].rsplit(" ", 1)[1]) >= 17
    assert len(spilled) > 4 if deep else True


def test_what_random_code_does_not_use():
    """Jumps, s32nb, wur and rur, movsp with the caller in the registers."""
    base = buffer_address(0)
    code = [
        "s32nb a3, a8, 12",
        "movi a4, 0x7f",
        "wur.fcr a4",
        "rur.fcr a5",
        "movi a4, 0",
        "wur.fsr a4",
        "j @5",
    ]
    code += ["nop.n", "rur.threadptr a6", "wur.threadptr a3", "rur.threadptr a7"]
    case = Case(code, {"a3": 0xCAFEBABE, "a8": base}, functions=[["entry a1, 64", "movsp a1, a1", "retw"]])
    case.code += ["call8 @fn0", "l32r a13, @lit0", "sub a6, a6, a6"]
    qemu, ours, _ = _run_both([case])
    assert _differences(qemu[:RECORD], ours[:RECORD]) == {}


# --- division and root, at their ends --------------------------------------------------------------------
_CLEAR = [f"const.s f{n}, 0" for n in range(8, 16)]


def _sequence_cases(code: str, pairs: list[tuple[int, int, int]]) -> list[Case]:
    clear = [*_CLEAR, "const.s f1, 0"]
    texts = [*instructions(code), *clear]
    return [Case(texts, {"f1": a, "f2": b, "fcr": mode}) for a, b, mode in pairs]


@pytest.mark.parametrize("code", [DIVISION, ROOT], ids=["division", "root"])
def test_sequences(code):
    """Result and flags of the compilers' sequences; steps inside differ, QEMU divides in one of them.

    With a NaN operand the result is NaN in both, with the same flags; its sign and payload come from the
    single steps on the chip, from one division in QEMU.
    """
    rng = random.Random(5)
    square = [(i, j) for i in range(len(SPECIAL)) for j in range(len(SPECIAL)) if (i + j) % 4 == 0]
    pairs = [(SPECIAL[i], SPECIAL[j], i % 4) for i, j in square]
    pairs += [(random_float(rng), random_float(rng), rng.randrange(4)) for _ in range(100)]
    qemu, ours, _ = _run_both(_sequence_cases(code, pairs))
    for index, (a, b, mode) in enumerate(pairs):
        span = slice(index * RECORD, (index + 1) * RECORD)
        found = _differences(qemu[span], ours[span])
        if ref.is_nan(a) or ref.is_nan(b):
            results = [int(text, 16) for text in found.pop("f0", ())]
            assert all(map(ref.is_nan, results)), f"{a:#010x}, {b:#010x}"
        assert not found, f"{a:#010x}, {b:#010x} mode {mode}: (QEMU, ours) {found}"


# --- known deviations: if one of them goes away, the notes have to change --------------------------------
DEVIATIONS = [
    # instructions, registers, what differs: (QEMU, ours)
    ("slli a3, a4, 32", {"a4": 5}, {"a3": ("00000005", "00000000")}),
    ("sll a3, a4", {"a4": 0x8000, "sar": 36}, {"a3": ("00000000", "00000800")}),
    ("trunc.s a3, f1, 15", {"f1": 0x7F000000}, {"fsr": ("00000a80", "00000800")}),
    ("utrunc.s a3, f1, 0", {"f1": 0xBF800000, "fsr": 0x400}, {"fsr": ("00000800", "00000c00")}),
    ("wur.fsr a4", {"a4": 0xFFFFFFFF}, {"fsr": ("00000f80", "ffffffff")}),
    ("wur.fcr a4", {"a4": 0xFFFFFFFF}, {"fcr": ("0000007f", "ffffffff")}),
]


@pytest.mark.parametrize(("text", "registers", "expected"), DEVIATIONS)
def test_known_deviation(text, registers, expected):
    qemu, ours, _ = _run_both([Case([text], registers)])
    assert _differences(qemu[:RECORD], ours[:RECORD]) == expected


@pytest.mark.long
@pytest.mark.parametrize("kind", ["straight", "structured"])
@pytest.mark.parametrize("seed", range(2, 42))
def test_at_length(kind, seed):
    """40 programs of 500 cases of each kind: about 1.7 million instructions."""
    _compare(kind, 500, seed)
