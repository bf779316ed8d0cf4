"""The stepper itself: deferred writes, faults, coprocessors, traps, code that changes."""

from __future__ import annotations

import pytest

from emu.cpu.exceptions import setting
from emu.cpu.state import ExitReason
from emu.cpu.traps import Trap, TrapKind
from tests.cpu.lab import CODE, DATA, END, Bench, run


def trap_of(bench: Bench) -> Trap:
    with pytest.raises(Trap) as caught:
        bench.run()
    return caught.value


def test_sources_are_read_before_anything_is_written() -> None:
    bench = run("add a2, a2, a2\n xor a3, a3, a3\n sub a4, a5, a4\n ret", {2: 21, 3: 9, 4: 1, 5: 3})
    assert (bench.a(2), bench.a(3), bench.a(4)) == (42, 0, 2)


def test_counts_instructions_and_budget() -> None:
    bench = Bench("movi a2, 5\n loop a2, end\n nop\n nop\n end: ret")
    assert bench.run(50) == ExitReason.RETURN
    assert bench.state.instructions == 13
    assert bench.state.budget == 37


def test_ccount_counts_instructions_and_can_be_set() -> None:
    bench = Bench("rsr.ccount a2\n nop\n rsr.ccount a3\n wsr.ccount a4\n rsr.ccount a5\n ret")
    bench.state.set_a(4, 0xFFFFFFFF)
    bench.run()
    assert bench.a(3) - bench.a(2) == 2
    assert bench.a(5) == 0


def test_a_faulting_instruction_leaves_no_trace() -> None:
    bench = Bench("l32i a2, a3, 0")
    bench.state.set_a(2, 7)
    bench.state.set_a(3, 0x10)
    trap = trap_of(bench)
    assert trap.kind == TrapKind.UNMAPPED_LOAD
    assert (trap.pc, trap.address) == (CODE, 0x10)
    assert (bench.a(2), bench.state.PC, bench.state.instructions) == (7, CODE, 0)
    assert "l32i a2, a3, 0" in str(trap)
    assert "no memory is mapped" in str(trap)


@pytest.mark.parametrize(
    ("code", "a3", "kind"),
    [
        ("s32i a2, a3, 0", 0x20000000, TrapKind.UNMAPPED_STORE),
        ("l8ui a2, a3, 0", 0xFFFFFFFF, TrapKind.UNMAPPED_LOAD),
        ("quou a2, a2, a3", 0, TrapKind.DIVIDE_BY_ZERO),
        ("rems a2, a2, a3", 0, TrapKind.DIVIDE_BY_ZERO),
        ("ill", 0, TrapKind.ILLEGAL),
        ("ill.n", 0, TrapKind.ILLEGAL),
        (".byte 0xff, 0xff, 0xff, 0xff", 0, TrapKind.ILLEGAL),
        ("jx a3", DATA, TrapKind.NOT_CODE),
        ("jx a3", 0, TrapKind.NOT_CODE),
        ("callx0 a3", 0x60000000, TrapKind.NOT_CODE),
        ("break 1, 2", 0, TrapKind.BREAK),
        ("syscall", 0, TrapKind.SERVICE),
    ],
)
def test_kinds_of_traps(code: str, a3: int, kind: TrapKind) -> None:
    bench = Bench(code)
    bench.state.set_a(3, a3)
    trap = trap_of(bench)
    assert trap.kind == kind
    assert trap.context.registers["a3"] == a3


def test_partial_access_at_the_end_of_memory_writes_nothing() -> None:
    bench = Bench("s32i a2, a3, 0")
    end = 0x3FCF0000
    before = bench.memory.read(end - 4, 4)
    bench.state.set_a(3, end - 2)
    trap = trap_of(bench)
    assert trap.kind == TrapKind.UNMAPPED_STORE
    assert f"from byte {end:#010x}" in str(trap)
    assert bench.memory.read(end - 4, 4) == before


@pytest.mark.parametrize("alignment", range(4))
def test_loads_and_stores_at_any_alignment(alignment: int) -> None:
    bench = run(
        "s32i a2, a3, 0\n l32i a4, a3, 0\n l16ui a5, a3, 2\n ret", {2: 0x89ABCDEF, 3: DATA + alignment}
    )
    assert (bench.a(4), bench.a(5)) == (0x89ABCDEF, 0x89AB)


FLOAT, VECTOR = "add.s f0, f1, f2", "ee.zero.q q0"


@pytest.mark.parametrize(
    ("code", "enable", "number"),
    [
        (FLOAT, 0xFE, 0),
        (VECTOR, 0xF7, 3),
        ("rur.fcr a2", 0xFE, 0),
        ("rur.accx_0 a2", 0xF7, 3),
        ("wur.qacc_h_0 a2", 0xF7, 3),
        ("lsi f0, a1, 0", 0x08, 0),
        (FLOAT, 0, 0),
        (VECTOR, 0x01, 3),
    ],
)
def test_coprocessor_must_be_enabled(code: str, enable: int, number: int) -> None:
    bench = Bench(code)
    bench.state.CPENABLE = enable
    trap = trap_of(bench)
    assert trap.kind == TrapKind.COPROCESSOR
    assert f"coprocessor {number}" in str(trap)
    bench.state.CPENABLE = 1 << number
    bench.stepper.step()


@pytest.mark.parametrize(
    "code", ["rur.threadptr a2", "rur.gpio_out a2", "ee.get_gpio_in a2", "rsr.cpenable a2"]
)
def test_needs_no_coprocessor(code: str) -> None:
    bench = Bench(code)
    bench.state.CPENABLE = 0
    bench.stepper.step()


def test_cpenable_after_reset() -> None:
    """B047: 0xFF on the chip, so that the first float or vector instruction just works."""
    bench = run(f"rsr.cpenable a2\n {FLOAT}\n {VECTOR}\n ret")
    assert bench.a(2) == 0xFF


@pytest.mark.parametrize(("code", "cause"), [(FLOAT, 32), (VECTOR, 35)])
def test_coprocessor_exception_through_the_vector(code: str, cause: int) -> None:
    """B047: with 0 written, the handler sees cause 32 (FPU) or 35 (PIE) and the address in EPC1."""
    bench = Bench(f"movi a2, 0\n wsr.cpenable a2\n rsync\n {code}", use_vectors=True)
    bench.state.VECBASE = CODE + 0x4000 >> 10
    bench.put("rsr.exccause a3\n rsr.epc1 a4\n ret", CODE + 0x4000 + setting("XCHAL_USER_VECOFS"))
    assert bench.run() == ExitReason.RETURN
    assert bench.a(3) == cause
    assert bench.a(4) == CODE + 9
    assert bench.state.PSEXCM == 1


def test_load_fault_through_the_vector() -> None:
    bench = Bench("l32i a2, a3, 4", use_vectors=True)
    bench.state.VECBASE = CODE + 0x4000 >> 10
    bench.state.set_a(3, 0x1000)
    bench.put("rsr.exccause a4\n rsr.excvaddr a5\n rsr.epc1 a6\n ret", CODE + 0x4340)
    assert bench.run() == ExitReason.RETURN
    assert (bench.a(4), bench.a(5), bench.a(6)) == (28, 0x1004, CODE)


@pytest.mark.parametrize(("code", "cause", "size"), [("break 1, 2", 1 << 3, 3), ("break.n 5", 1 << 4, 2)])
def test_breakpoints_through_the_debug_vector(code: str, cause: int, size: int) -> None:
    bench = Bench(f"rsil a2, 3\n {code}\n ret", use_vectors=True)
    bench.state.VECBASE = CODE + 0x4000 >> 10
    vector = CODE + 0x4000 + setting("XCHAL_DEBUG_VECOFS")
    bench.put(
        f"rsr.debugcause a3\n rsr.epc6 a4\n rsr.ps a5\n addi a4, a4, {size}\n wsr.epc6 a4\n rfi 6", vector
    )
    assert bench.run() == ExitReason.RETURN
    assert bench.a(3) & 0x3F == cause
    assert bench.a(4) == CODE + 3 + size
    assert bench.a(5) & 0x1F == 6 | 0x10
    assert (bench.state.PSINTLEVEL, bench.state.PSEXCM, bench.state.PSWOE) == (3, 0, 1)


def test_second_exception_goes_to_the_double_vector() -> None:
    bench = Bench("ill", use_vectors=True)
    bench.state.VECBASE = CODE + 0x4000 >> 10
    bench.put("nop\n ill", CODE + 0x4340)
    bench.put("rsr.depc a4\n rsr.epc1 a5\n ret", CODE + 0x43C0)
    assert bench.run() == ExitReason.RETURN
    assert (bench.a(4), bench.a(5)) == (CODE + 0x4343, CODE)


def test_handlers_that_fault_for_ever_use_up_the_budget() -> None:
    """Code is there, and it raises: something may still change it."""
    bench = Bench("ill", use_vectors=True)
    bench.state.VECBASE = CODE + 0x4000 >> 10
    bench.put("ill", CODE + 0x4340)
    bench.put("ill", CODE + 0x43C0)
    assert bench.run(100) == ExitReason.BUDGET


@pytest.mark.parametrize("first", ["ill", "l32i a2, a3, 0", "rsr.cpenable a4\n .byte 16, 229, 120"])
@pytest.mark.parametrize("is_illegal", [True, False])
def test_vectors_without_code_end_the_run_and_name_the_first_exception(first: str, is_illegal: bool) -> None:
    """VECBASE leads nowhere, or to bytes that are no instructions: the chip would go round for ever."""
    bench = Bench("nop\n nop\n" + first, use_vectors=True)
    bench.state.set_a(3, 0x20000000)
    bench.state.VECBASE = (CODE + 0x4000 if is_illegal else 0x20000000) >> 10
    for offset in (0x300, 0x340, 0x3C0):
        bench.memory.write(CODE + 0x4000 + offset, b"\x10\xe5\x78")
    with pytest.raises(Trap) as caught:
        bench.run(100)
    at = CODE + (9 if first.startswith("rsr") else 6)
    assert (caught.value.kind, caught.value.address) == (TrapKind.EXCEPTION, at)
    cause = "LOAD_PROHIBITED" if first.startswith("l32i") else "ILLEGAL_INSTRUCTION"
    assert f"exception {cause}" in str(caught.value)
    assert f"at {at:#010x}" in str(caught.value)
    assert "has no handler" in str(caught.value)


def test_changed_code_is_executed_as_changed() -> None:
    bench = Bench("again: movi a2, 1\n bnez a4, done\n movi a4, 1\n j again\n done: ret")
    bench.state.set_a(4, 0)
    bench.stepper.step()
    assert bench.a(2) == 1
    bench.put("movi a2, 2")
    assert bench.run() == ExitReason.RETURN
    assert bench.a(2) == 2


def test_code_at_the_end_of_memory() -> None:
    bench = Bench()
    end = 0x403E0000
    bench.memory.write(end - 2, b"\x22\xa0")  # movi a2 without its last byte
    bench.state.PC = end - 2
    assert trap_of(bench).kind == TrapKind.NOT_CODE


def test_backtrace_names_the_callers() -> None:
    bench = Bench("f: entry a1, 32\n call8 g\n .align 4\n g: entry a1, 32\n l32i a2, a2, 0")
    bench.state.PSCALLINC = 2
    bench.state.set_a(8, 2 << 30 | END & 0x3FFFFFFF)
    bench.state.set_a(10, 0)
    bench.state.ar[18] = 0
    trap = trap_of(bench)
    assert [place.address for place in trap.context.backtrace] == [CODE + 3]


def test_fused_and_repeated_destinations_are_noticed() -> None:
    bench = run("madd.s f0, f1, f2\n msub.s f0, f1, f2\n maddn.s f0, f1, f2\n ret")
    assert bench.diagnostics.fused == {CODE: 1, CODE + 3: 1}


def test_misaligned_vector_access_is_noticed_not_refused() -> None:
    """B004, B020: low address bits are dropped, the pointer keeps them."""
    bench = Bench("ee.vld.128.ip q0, a2, 16\n ret")
    bench.memory.write(DATA, bytes(range(32)))
    bench.state.set_a(2, DATA + 5)
    bench.run()
    assert bench.state.get_q(0) == int.from_bytes(bytes(range(16)), "little")
    assert bench.a(2) == DATA + 21
    assert bench.diagnostics.misaligned == {CODE: 1}
