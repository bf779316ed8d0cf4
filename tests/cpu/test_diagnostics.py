"""Each diagnostic finds its fault, names the place and the values, and is silent on correct code."""

from __future__ import annotations

import pytest

from emu.cpu.calls import CallResult
from emu.cpu.diagnostics import TEXTS, Check, Finding, parse_checks
from emu.cpu.engine import Engine
from emu.cpu.options import EngineOptions
from emu.cpu.shadow import INIT, READ, WRITE
from emu.cpu.traps import Trap, TrapKind
from tests.cpu.handlers import install
from tests.cpu.images import image_of
from tests.cpu.lab import CODE, DATA

PARALLEL = " ; "


def engine_of(text: str, data: bytes = bytes(range(64)), **options: object) -> Engine:
    text = text.replace(PARALLEL, "\n")
    return Engine(image_of(text, data), EngineOptions(**{"check": True, **options}))  # type: ignore[arg-type]


def found(text: str, *arguments: int, **options: object) -> list[Finding]:
    return list(engine_of(text, **options).call("f", list(arguments), budget=100_000).findings)


def only(text: str, *arguments: int, **options: object) -> Finding:
    findings = found(text, *arguments, **options)
    assert len(findings) == 1, [str(f) for f in findings]
    return findings[0]


FREE: list[tuple[str, Check, int, str]] = [
    ("f: entry a1, 32 ; addi a2, a2, 3 ; ee.vld.128.ip q0, a2, 16 ; retw", Check.MISALIGNED, 6,
     f"16 bytes at {DATA + 3:#010x}, done at {DATA:#010x}"),
    ("f: entry a1, 32 ; ee.vld.128.ip q0, a2, 0 ; ee.vadds.s8 q1, q0, q0 ; ee.vadds.s8 q1, q1, q1 ;"
     " ee.vadds.s8 q1, q1, q1 ; ee.vadds.s8 q1, q1, q1 ; retw", Check.SATURATION, 15,
     "lane 8: 0x80 becomes 0x7f (16 bits)"),
    ("f: entry a1, 32 ; wfr f0, a2 ; madd.s f0, f0, f0 ; retw", Check.FUSED, 6, f"r = f0 = {DATA:#010x}"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "check", "at", "first"), FREE)
def test_what_the_stepper_notices_for_free(text: str, check: Check, at: int, first: str) -> None:
    findings = [f for f in found(text, DATA) if f.check == check]
    assert [f.pc for f in findings] == [CODE + at]
    assert first in findings[0].first
    assert str(findings[0]).startswith(TEXTS[check])
    assert "f+0x" in str(findings[0])


def test_saturation_of_both_accumulators() -> None:
    """ACCX and QACC end at their limits."""
    head = "f: entry a1, 32 ; movi a3, {top} ; {zero} ; movi a4, -1 ; ee.movi.32.q q0, a4, 0"
    head += " ; ee.movi.32.q q0, a4, 1 ; ee.movi.32.q q0, a4, 2 ; ee.movi.32.q q0, a4, 3"
    accx = head.format(top=0xFF, zero="wur.accx_1 a3 ; movi a3, -1 ; wur.accx_0 a3")
    finding = only(accx + " ; ee.vmulas.u8.accx q0, q0 ; retw")
    assert (finding.check, finding.pc) == (Check.SATURATION, CODE + 30)
    qacc = (
        head.format(top=0, zero="ee.zero.qacc") + " ; loop a2, _end ; ee.vmulas.u8.qacc q0, q0\n _end: retw"
    )
    finding = only(qacc, 20)
    assert (finding.check, finding.count) == (Check.SATURATION, 4)
    assert found(qacc, 16) == []


def test_two_results_in_one_register() -> None:
    text = "f: entry a1, 32 ; ee.zero.qacc ; ee.zero.q q0 ; ee.zero.q q1 ; {code} ; retw"
    code = "ee.vmulas.s8.qacc.ld.ip q0, a2, 16, q0, q1"
    assert found(text.format(code=code), DATA) == []
    findings = found("f: entry a1, 32 ; ee.zero.q q0 ; ee.zero.q q1 ; ee.vzip.8 q0, q0 ; retw", DATA)
    assert [f.check for f in findings] == [Check.SAME_REGISTER]
    assert findings[0].pc == CODE + 9


BOUNDS = "f: entry a1, 32 ; l8ui a4, a2, {load} ; s8i a4, a3, {store} ; retw"


@pytest.mark.parametrize(
    ("load", "store", "expected"),
    [(7, 7, []), (8, 0, ["load"]), (0, 8, ["store"]), (9, 9, ["load", "store"])],
)
def test_bounds_are_noted_and_the_run_goes_on(load: int, store: int, expected: list[str]) -> None:
    engine = engine_of(BOUNDS.format(load=load, store=store))
    arena = engine.arena.start
    engine.memory.write(arena, bytes(range(1, 33)))
    engine.memory.shadow.allow(arena, 8, READ | INIT)
    engine.memory.shadow.allow(arena + 64, 8, WRITE)
    findings = engine.call("f", [arena, arena + 64]).findings
    assert [f.first.split()[0] for f in findings] == expected
    assert all(f.check == Check.BOUNDS for f in findings)
    assert engine.memory.read(arena + 64 + store, 1) == bytes([load + 1])


def test_bounds_alone_still_trap() -> None:
    engine = engine_of(BOUNDS.format(load=0, store=0), check=False, bounds=True)
    with pytest.raises(Trap) as caught:
        engine.call("f", [engine.arena.start, DATA])
    assert caught.value.kind == TrapKind.BOUNDS_READ


def test_memory_that_was_never_written() -> None:
    text = "f: entry a1, 64 ; s32i a2, a1, 4 ; l32i a3, a1, 4 ; l32i a2, a1, {offset} ; retw"
    assert found(text.format(offset=4), 5) == []
    finding = only(text.format(offset=8), 5)
    assert (finding.check, finding.pc) == (Check.MEMORY, CODE + 9)
    assert "never written" in finding.first


REGISTERS = [
    ("f: entry a1, 32 ; add a2, a2, a9 ; retw", (1,), "a9 = "),
    ("f: entry a1, 32 ; add a2, a2, a3 ; retw", (1,), "a3 = "),
    ("f: entry a1, 32 ; add a2, a2, a3 ; retw", (1, 2), None),
    ("f: entry a1, 32 ; wfr f1, a2 ; add.s f0, f1, f2 ; retw", (1,), "f2"),
    ("f: entry a1, 32 ; sll a2, a2 ; retw", (1,), "SAR"),
    ("f: entry a1, 32 ; ssl a2 ; sll a2, a2 ; retw", (1,), None),
    ("f: entry a1, 32 ; ee.zero.q q0 ; ee.vmulas.s8.accx q0, q0 ; retw", (1,), "ACCX"),
    ("f: entry a1, 32 ; ee.zero.accx ; ee.zero.q q0 ; ee.vmulas.s8.accx q0, q0 ; retw", (1,), None),
    ("f: entry a1, 32 ; ee.zero.q q0 ; ee.vmulas.s8.qacc q0, q0 ; retw", (1,), "QACC"),
    ("f: entry a1, 32 ; ee.zero.qacc ; ee.vmulas.s8.qacc q0, q0 ; retw", (1,), "q0"),
    ("f: entry a1, 32 ; movt a2, a2, b3 ; retw", (1,), "b3"),
    ("f: entry a1, 32 ; mula.aa.ll a2, a2 ; retw", (1,), "ACC"),
    ("f: entry a1, 64 ; s32i a9, a1, 16 ; ssi f3, a1, 20 ; retw", (1,), None),
    ("f: entry a1, 64 ; s32i a9, a2, 0 ; retw", (DATA,), "a9 = "),
    ("f: entry a1, 32 ; xor a9, a9, a9 ; add a2, a2, a9 ; ee.xorq q1, q1, q1 ; retw", (1,), None),
    ("f: entry a1, 32 ; movi a4, 1 ; moveqz a9, a4, a4 ; movnez a9, a4, a4 ; retw", (1,), None),
    ("f: entry a1, 32 ; ee.movi.32.q q3, a2, 2 ; wur.accx_0 a2 ; retw", (1,), None),
]  # fmt: skip


@pytest.mark.parametrize(("text", "arguments", "first"), REGISTERS)
def test_registers_that_were_never_written(text: str, arguments: tuple[int, ...], first: str | None) -> None:
    findings = [f for f in found(text, *arguments) if f.check == Check.REGISTERS]
    if first is None:
        assert findings == []
    else:
        assert findings
        assert first in findings[0].first
        assert findings[0].check == Check.REGISTERS


CALLER = """
    f: entry a1, 48
       movi a10, 1
       {before}
       {call} g
       {after}
       retw
       .align 4
    g: entry a1, 32
       movi a8, 2
       movi a2, 3
       {inside}
       retw
"""


@pytest.mark.parametrize(
    ("parts", "first"),
    [
        ({"inside": "add a2, a2, a2"}, None),
        ({"inside": "add a2, a2, a4"}, "a4 = "),
        ({"inside": "add a2, a2, a4", "before": "movi a12, 5"}, None),
        ({"after": "add a2, a10, a10"}, None),
        ({"before": "movi a15, 1", "after": "add a2, a10, a15"}, "a15 = "),
        ({"before": "movi a7, 1", "after": "add a2, a10, a7"}, None),
        ({"before": "ee.zero.q q0", "after": "ee.vadds.s8 q1, q0, q0"}, "q0"),
        ({"before": "ssl a2", "inside": "sll a2, a2"}, "SAR"),
        (
            {"call": "call4", "before": "movi a6, 1", "inside": "add a2, a2, a2", "after": "add a2, a6, a6"},
            None,
        ),
        ({"call": "call12", "before": "movi a11, 1", "after": "add a2, a11, a14"}, None),
    ],
)
def test_registers_across_calls(parts: dict[str, str], first: str | None) -> None:
    pieces = {"before": "nop", "inside": "nop", "after": "nop", "call": "call8"} | parts
    findings = found(CALLER.format(**pieces), 1)
    if first is None:
        assert findings == []
    else:
        assert [(f.check, first in f.first) for f in findings] == [(Check.REGISTERS, True)]


DEEP = """
    f: entry a1, 48
       beqz a2, _leave
       addi a3, a2, 3
       movi a7, 9
       addi a10, a2, -1
       {call} f
       add a2, a{result}, a3
       add a2, a2, a7
    _leave: retw
"""


@pytest.mark.parametrize("exceptions", ["built-in", "vectors"])
@pytest.mark.parametrize("step", [1, 2])
def test_correct_recursion_is_silent(step: int, exceptions: str) -> None:
    """Frames that were spilled and filled, by the engine or by handlers, keep their marks."""
    text = DEEP.format(call=f"call{4 * step}", result=4 * step + 2)
    text = text if step == 2 else text.replace("addi a10", "addi a6").replace("movi a7", "movi a3")
    text = text if step == 2 else text.replace("a2, a2, a7", "a2, a2, a3")
    engine = engine_of(text, exceptions=exceptions)
    install(engine)
    assert engine.call("f", [25]).findings == ()
    assert engine.diagnostics.lowest_stack == engine.stack.end - 64 - 26 * 48
    assert engine.diagnostics.deepest == CODE


RED = [
    ("s32i a2, a1, 0", None),
    ("addi a8, a1, -4 ; s32i a2, a8, 0", "store of 4 bytes 4 bytes below"),
    ("addi a8, a1, -16 ; l32i a2, a8, 0", None),
    ("addi a8, a1, -20 ; s32i a2, a8, 0 ; l32i a2, a8, 0", "store of 4 bytes 20 bytes below"),
    ("rsil a3, 1 ; addi a8, a1, -64 ; s32i a2, a8, 0 ; wsr.ps a3", None),
]


@pytest.mark.parametrize(("code", "first"), RED)
def test_accesses_below_the_stack_pointer(code: str, first: str | None) -> None:
    findings = [f for f in found(f"f: entry a1, 32 ; {code} ; retw", 7) if f.check == Check.RED_ZONE]
    assert bool(findings) == (first is not None)
    if first is not None:
        assert first in findings[0].first


SMASH = """
    f: entry a1, 32
       movi a3, 77
       mov.n a10, a2
       call8 deep
       mov.n a2, a3
       retw
       .align 4
    deep: entry a1, 32
       beqz a2, _leave
       addi a10, a2, -1
       call8 deep
    _leave: {smash}
       retw
"""


SMASH_AT_12 = "bnei a2, 12, _out ; movi a8, 99 ; addi a9, a1, -16 ; s32i a8, a9, 12\n _out: nop"
"""Run when the recursion is back in its first frame, below which the caller's registers a0..a3 were saved."""


def test_a_smashed_save_area_shows_when_the_call_returns() -> None:
    result = engine_of(SMASH.format(smash="nop")).call("f", [12])
    assert (result.a2, result.findings) == (77, ())
    findings = found(SMASH.format(smash=SMASH_AT_12), 12)
    assert {f.check for f in findings} == {Check.ABI, Check.RED_ZONE}
    (abi,) = (f for f in findings if f.check == Check.ABI)
    assert "a3 of the caller was 0x0000004d and is 0x00000063" in abi.first
    assert "deep+" in str(abi.where)


def test_stale_loop_ends_are_told_from_ones_own() -> None:
    """h falls into the end of the loop that g left by a branch: LCOUNT is still 2."""
    text = """
    f: entry a1, 32
       movi a10, 3
       call8 g
       call8 h
       retw
       .align 4
    g: entry a1, 32
       loop a2, _end
       beqz a2, _body
       j _out
    _body: nop
    _end: nop
    _out: retw
       .align 4
    h: entry a1, 32
       movi a2, 0
       movi a3, 1
       j _body
    """
    findings = [f for f in found(text, 1) if f.check == Check.LOOPS]
    assert [f.count for f in findings] == [2]
    assert "LCOUNT" in findings[0].first


def test_each_check_can_be_switched() -> None:
    text = "f: entry a1, 32 ; add a2, a2, a9 ; ee.vld.128.ip q0, a3, 16 ; addi a8, a1, -64"
    text += " ; s32i a2, a8, 0 ; retw"
    everything = {f.check for f in found(text, 1, DATA + 1)}
    assert everything == {Check.REGISTERS, Check.MISALIGNED, Check.RED_ZONE}
    for check in everything:
        assert {f.check for f in found(text, 1, DATA + 1, check=False, diagnostics=check)} == {check}
    assert found(text, 1, DATA + 1, check=False, diagnostics=Check.NONE) == []


def test_checks_run_on_the_stepper_whatever_the_tier() -> None:
    engine = engine_of("f: entry a1, 32 ; retw", tier="translator")
    engine.call("f")
    assert engine._tier is engine.stepper


def test_results_carry_the_findings() -> None:
    result = engine_of("f: entry a1, 32 ; add a2, a2, a9 ; retw").call("f", [1])
    assert isinstance(result, CallResult)
    assert [f.kind for f in result.findings] == [TEXTS[Check.REGISTERS]]
    assert "f+0x3" in str(result.findings[0])


def test_names_of_checks() -> None:
    assert parse_checks("red-zone, misaligned") == Check.RED_ZONE | Check.MISALIGNED
    assert parse_checks("all") == Check.ALL
    assert parse_checks("") == Check.NONE
    with pytest.raises(ValueError, match="known are"):
        parse_checks("everything")
    assert set(TEXTS) | {Check.STACK} == set(Check.ALL)
