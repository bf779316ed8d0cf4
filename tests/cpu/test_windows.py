"""Register windows: overflow at first use, exact spill and fill, deep recursion (known fault B045)."""

from __future__ import annotations

import pytest

from emu.cpu.state import ExitReason
from emu.cpu.traps import Trap, TrapKind
from tests.cpu.lab import CODE, END, STACK_TOP, Bench

VECTORS = """
    s32e a0, a5, -16
    s32e a1, a5, -12
    s32e a2, a5, -8
    s32e a3, a5, -4
    rfwo
    .align 64
    l32e a0, a5, -16
    l32e a1, a5, -12
    l32e a2, a5, -8
    l32e a3, a5, -4
    rfwu
    .align 64
    s32e a0, a9, -16
    l32e a0, a1, -12
    s32e a1, a9, -12
    s32e a2, a9, -8
    s32e a3, a9, -4
    s32e a4, a0, -32
    s32e a5, a0, -28
    s32e a6, a0, -24
    s32e a7, a0, -20
    rfwo
    .align 64
    l32e a0, a9, -16
    l32e a1, a9, -12
    l32e a2, a9, -8
    l32e a7, a1, -12
    l32e a3, a9, -4
    l32e a4, a7, -32
    l32e a5, a7, -28
    l32e a6, a7, -24
    l32e a7, a7, -20
    rfwu
    .align 64
    s32e a0, a13, -16
    l32e a0, a1, -12
    s32e a1, a13, -12
    s32e a2, a13, -8
    s32e a3, a13, -4
    s32e a4, a0, -48
    s32e a5, a0, -44
    s32e a6, a0, -40
    s32e a7, a0, -36
    s32e a8, a0, -32
    s32e a9, a0, -28
    s32e a10, a0, -24
    s32e a11, a0, -20
    rfwo
    .align 64
    l32e a0, a13, -16
    l32e a1, a13, -12
    l32e a2, a13, -8
    l32e a11, a1, -12
    l32e a3, a13, -4
    l32e a4, a11, -48
    l32e a5, a11, -44
    l32e a6, a11, -40
    l32e a7, a11, -36
    l32e a8, a11, -32
    l32e a9, a11, -28
    l32e a10, a11, -24
    l32e a11, a11, -20
    rfwu
"""
VECTOR_BASE = 0x403B8000


def chain(step: int) -> str:
    """A recursion by call<4*step>: every frame marks its own registers and checks them after the call.

    a2: remaining depth, a3: where to write an error. Returns depth + result of the callee.
    """
    own = range(4, 4 * step)
    marks = "\n".join(f"addi a{i}, a2, {i}" for i in own)
    checks = "\n".join(f"addi a15, a2, {i}\n bne a{i}, a15, bad" for i in own)
    result = 4 * step + 2
    return f"""
    f:      entry a1, 64
            {marks}
            beqz a2, leaf
            addi a{result}, a2, -1
            mov.n a{result + 1}, a3
            call{4 * step} f
            add a14, a{result}, a2
            {checks}
            mov.n a2, a14
            retw
    leaf:   retw.n
    bad:    s32i a2, a3, 0
            retw
    """


def call_into(bench: Bench, step: int, argument: int) -> None:
    """The state as after call<4*step> f in a caller at WindowBase 0."""
    state = bench.state
    state.PSCALLINC = step
    state.set_a(4 * step, step << 30 | END & 0x3FFFFFFF)
    state.set_a(4 * step + 2, argument)
    state.set_a(4 * step + 3, STACK_TOP - 4)


@pytest.mark.parametrize("use_vectors", [False, True])
@pytest.mark.parametrize("step", [2, 3])
@pytest.mark.parametrize("depth", [1, 3, 4, 5, 7, 12, 17, 40])
def test_recursion(step: int, depth: int, use_vectors: bool) -> None:
    bench = Bench(chain(step), use_vectors)
    bench.put(VECTORS, VECTOR_BASE)
    bench.state.VECBASE = VECTOR_BASE >> 10
    bench.memory.write(STACK_TOP - 4, bytes(4))
    before = [bench.a(i) for i in range(8)]
    call_into(bench, step, depth)
    assert bench.run() == ExitReason.RETURN
    assert bench.word(STACK_TOP - 4) == 0, "a frame found its registers changed"
    assert bench.a(4 * step + 2) == depth * (depth + 1) // 2
    assert [bench.a(i) for i in range(8)][: 4 * step] == before[: 4 * step]
    assert (bench.state.WindowBase, bench.state.WindowStart) == (0, 1)


CALL4 = """
f:      entry a1, 48
        beqz a2, leaf
        addi a6, a2, -1
        call4 f
        add a2, a6, a2
        retw
leaf:   retw.n
"""


@pytest.mark.parametrize("use_vectors", [False, True])
@pytest.mark.parametrize("depth", [1, 12, 14, 15, 16, 17, 50])
def test_call4(depth: int, use_vectors: bool) -> None:
    bench = Bench(CALL4, use_vectors)
    bench.put(VECTORS, VECTOR_BASE)
    bench.state.VECBASE = VECTOR_BASE >> 10
    call_into(bench, 1, depth)
    assert bench.run() == ExitReason.RETURN
    assert bench.a(6) == depth * (depth + 1) // 2
    assert (bench.state.WindowBase, bench.state.WindowStart) == (0, 1)


@pytest.mark.parametrize("step", [2, 3])
def test_built_in_equals_the_handlers_byte_for_byte(step: int) -> None:
    """Stack and physical registers after a deep recursion are the same, dead registers included."""
    found = []
    for use_vectors in (False, True):
        bench = Bench(chain(step), use_vectors)
        bench.put(VECTORS, VECTOR_BASE)
        bench.state.VECBASE = VECTOR_BASE >> 10
        call_into(bench, step, 23)
        bench.run()
        found.append((list(bench.state.ar), bench.memory.read(STACK_TOP - 8192, 8192)))
    assert found[0] == found[1]


def test_spill_goes_below_the_stack_pointer_of_the_callee() -> None:
    """B045: a0..a3 of a frame lie at the callee's SP - 16, and the trap comes before the write."""
    bench = Bench("movi a4, 77")
    state = bench.state
    state.WindowBase, state.WindowStart = 15, 1 << 15 | 1 << 0 | 1 << 2
    state.PSCALLINC = 0
    frame = [0x80001234, STACK_TOP - 512, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77]
    for i, value in enumerate(frame):
        state.ar[i] = value
    state.ar[9] = STACK_TOP - 640  # stack pointer of the frame that it called (window 2)
    bench.memory.write(STACK_TOP - 512 - 12, (STACK_TOP - 256).to_bytes(4, "little"))
    bench.stepper.step()
    saved = bench.memory.read(STACK_TOP - 640 - 16, 16)
    assert saved == b"".join(v.to_bytes(4, "little") for v in frame[:4])
    extra = bench.memory.read(STACK_TOP - 256 - 32, 16)
    assert extra == b"".join(v.to_bytes(4, "little") for v in frame[4:])
    assert state.WindowStart == 1 << 15 | 1 << 2
    assert bench.a(4) == 77


@pytest.mark.parametrize(
    ("code", "spilled"),
    [
        ("movi a3, 1", 0),
        ("movi a4, 1", 1),
        ("mov.n a3, a7", 1),
        ("add a3, a2, a8", 2),
        ("s32i a12, a1, 0", 3),
        ("call8 f", 2),
        ("call12 f", 3),
        ("call4 f", 1),
        ("call0 f", 0),
    ],
)
def test_check_at_first_use_of_an_occupied_pane(code: str, spilled: int) -> None:
    """Panes 1, 2, 3 hold frames; using a pane spills all occupied ones up to it, and no other."""
    bench = Bench(f"{code}\n .align 4\n f: ret")
    state = bench.state
    state.WindowStart = 0b11111
    for frame in (1, 2, 3, 4):
        state.ar[4 * frame + 1] = STACK_TOP - 256 * frame
    bench.stepper.step()
    assert state.WindowStart == 0b11111 & ~(0b1110 & ((1 << (spilled + 1)) - 1))


@pytest.mark.parametrize("what", ["PSWOE", "PSEXCM"])
def test_no_check_without_windows(what: str) -> None:
    bench = Bench("movi a12, 5")
    bench.state.WindowStart = 0b1111
    setattr(bench.state, what, 0 if what == "PSWOE" else 1)
    bench.stepper.step()
    assert bench.state.WindowStart == 0b1111
    assert bench.a(12) == 5


def test_ret_fields_that_are_ignored_do_not_count() -> None:
    bench = Bench(".byte 0x80, 0x0c, 0x00")  # ret with the ignored field s = 12
    bench.state.WindowStart = 0b1111
    bench.stepper.step()
    assert bench.state.WindowStart == 0b1111
    assert bench.state.PC == END


def test_movsp_fills_the_callers_frame_first() -> None:
    """alloca: with the caller spilled, the handler brings it back, then the stack pointer moves."""
    bench = Bench("f: entry a1, 64\n addi a2, a1, -128\n movsp a1, a2\n retw")
    call_into(bench, 2, 0)
    bench.stepper.step()
    state = bench.state
    pointer = bench.a(1)
    caller = [state.ar[i] for i in range(8)]
    bench.memory.write(pointer - 16, b"".join(v.to_bytes(4, "little") for v in caller[:4]))
    bench.memory.write(STACK_TOP - 32, b"".join(v.to_bytes(4, "little") for v in caller[4:]))
    for i in range(8):
        state.ar[i] = 0xDEAD0000 + i
    state.WindowStart = 1 << 2
    assert bench.run() == ExitReason.RETURN
    assert [state.ar[i] for i in range(8)] == caller
    assert (state.WindowBase, state.WindowStart) == (0, 1)


def test_return_without_a_frame_is_a_trap() -> None:
    bench = Bench("retw")
    bench.state.set_a(0, 0)
    with pytest.raises(Trap) as caught:
        bench.stepper.step()
    assert caught.value.kind == TrapKind.ILLEGAL
    assert "retw" in str(caught.value)
    assert f"{CODE:#010x}" in str(caught.value)


def test_stack_overflow_names_what_was_being_done() -> None:
    bench = Bench(chain(2))
    call_into(bench, 2, 200_000)
    bench.state.set_a(1, 0x3FC88400)
    with pytest.raises(Trap) as caught:
        bench.run(10_000_000)
    assert caught.value.kind == TrapKind.UNMAPPED_STORE
    assert "spilling" in str(caught.value)


def test_entry_records_the_lowest_stack_pointer() -> None:
    bench = Bench(chain(2))
    call_into(bench, 2, 10)
    bench.run()
    assert bench.diagnostics.lowest_stack == STACK_TOP - 64 - 64 * 11
