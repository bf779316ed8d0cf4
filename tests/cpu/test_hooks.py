"""Hooks: taps at functions and inside of loops, functions served by the host, breakpoints; on both tiers."""

from __future__ import annotations

import numpy as np
import pytest

from emu.cpu import state_tools
from emu.cpu.engine import Engine, Stopped
from emu.cpu.hooks import STOP, GuestCall, HookError
from emu.cpu.interrupts import timer_number
from emu.cpu.traps import Trap, TrapKind
from emu.image import SymbolError
from tests.cpu import images
from tests.cpu.handlers import install
from tests.cpu.images import engine_of
from tests.cpu.lab import CODE, DATA


@pytest.fixture(params=images.TIERS, autouse=True)
def tier(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Every test here runs on both tiers."""
    monkeypatch.setattr(images, "TIER", request.param)
    return str(request.param)


SUM = """
    f: entry a1, 48
       movi a5, 0
       loopnez a3, _end
    body: l32i a4, a2, 0
       addi a2, a2, 4
       add a5, a5, a4
    _end: mov.n a10, a5
       movi a11, 3
       call8 scale
    back: mov.n a2, a10
       retw
       .align 4
    scale: entry a1, 32
       mull a2, a2, a3
       retw
"""


def summing(**options: object) -> Engine:
    data = b"".join(i.to_bytes(4, "little") for i in range(1, 11))
    return engine_of(SUM, data, **options)


def test_a_tap_sees_arguments_and_does_not_change_the_run() -> None:
    engine, seen = summing(), []
    plain = summing().call("f", [DATA, 10])
    engine.hook("scale", lambda guest: seen.append((guest.arguments(2), guest.caller, guest.address)))
    for _ in range(2):
        result = engine.call("f", [DATA, 10])
        assert (result.a2, result.instructions) == (plain.a2, plain.instructions) == (165, 41)
    symbols = engine.image.symbols
    assert seen == [([55, 3], symbols.get("back").address, symbols.get("scale").address)] * 2


def test_a_hook_inside_a_hardware_loop_runs_in_every_iteration() -> None:
    engine, seen = summing(), []
    hook = engine.hook("body", lambda guest: seen.append(guest.register(5)))
    assert engine.call("f", [DATA, 10]).a2 == 165
    assert seen == [sum(range(i)) for i in range(1, 11)]
    assert (hook.hits, engine.hooked) == (10, frozenset({hook.address}))
    hook.remove()
    hook.remove()
    assert engine.call("f", [DATA, 10]).a2 == 165
    assert (hook.hits, engine.hooked) == (10, frozenset())


def test_hooks_may_be_set_on_code_that_is_translated_already() -> None:
    engine, seen = summing(), []
    engine.call("f", [DATA, 10])
    engine.hook("back", lambda guest: seen.append(guest.register(10)))
    engine.hook("back", lambda guest: seen.append("second"))
    engine.call("f", [DATA, 10])
    assert seen == [165, "second"]


def test_a_tap_may_change_registers_and_memory() -> None:
    engine = summing()

    def double(guest: GuestCall) -> None:
        guest.state.set_a(10, 2 * guest.register(10))
        guest.engine.memory.write(DATA, b"\x07\0\0\0")

    engine.hook("back", double)
    assert engine.call("f", [DATA, 10]).a2 == 330
    assert engine.memory.read(DATA, 4) == b"\x07\0\0\0"


def test_a_function_of_the_host_takes_the_place_of_the_guests() -> None:
    engine = summing()
    plain = engine.call("f", [DATA, 10]).instructions
    hook = engine.serve("scale", lambda guest: guest.argument(0) * 1000 + guest.argument(1))
    result = engine.call("f", [DATA, 10])
    assert (result.a2, result.instructions) == (55003, plain - 3)
    hook.remove()
    assert engine.call("f", [DATA, 10]).a2 == 165


CALLS = """
    f: entry a1, 64
       movi a10, 1
       movi a11, 2
       movi a12, 3
       movi a13, 4
       movi a14, 5
       movi a15, 6
       movi a3, 7
       s32i a3, a1, 0
       movi a3, 8
       s32i a3, a1, 4
       {call} rom
       mov.n a2, a{result}
       mov.n a3, a{second}
       retw
       .align 4
    rom: .word 0
"""


@pytest.mark.parametrize("step", [1, 2, 3])
def test_rom_functions_without_code_are_served_in_every_call_form(step: int) -> None:
    """The arguments lie where the call instruction's window puts them; the rest is on the stack."""
    text = CALLS.format(call=f"call{4 * step}", result=4 * step + 2, second=4 * step + 3)
    engine, seen = engine_of(text), []

    def rom(guest: GuestCall) -> np.int64:
        seen.append((guest.step, guest.arguments(8 if step == 2 else 2)))
        return np.int64(-2)

    engine.serve("rom", rom)
    result = engine.call("f")
    assert (result.a2, result.a3) == (0xFFFFFFFE, 0xFFFFFFFF)
    ((step_seen, arguments),) = seen
    assert step_seen == step
    if step == 2:
        assert arguments == [1, 2, 3, 4, 5, 6, 7, 8]
    elif step == 3:
        assert arguments == [5, 6]


def test_served_results_of_other_types() -> None:
    for value, expected in ((None, 1), (np.float32(1.5), 0x3FC00000), (-1, 0xFFFFFFFF), (True, 1)):
        engine = engine_of(CALLS.format(call="call8", result=10, second=11))
        engine.serve("rom", lambda guest, value=value: value)
        assert engine.call("f").a2 == expected


def test_strings_for_functions_like_printf() -> None:
    engine = engine_of(SUM, b"h\xc3\xa4llo\0rest" + bytes(20))
    seen = []
    engine.hook("f", lambda guest: seen.append(guest.string(guest.argument(0))))
    engine.call("f", [DATA, 0])
    assert seen == [b"h\xc3\xa4llo"]


def test_a_breakpoint_stops_and_the_run_goes_on_from_there() -> None:
    engine = summing()
    engine.hook("body", lambda guest: STOP if guest.register(5) in (3, 6) else None)
    entered = engine.begin("f", [DATA, 10])
    engine.state.budget = 1000
    for expected in (3, 6):
        with pytest.raises(Stopped, match=r"body") as stopped:
            engine.run()
        assert engine.state.get_a(5) == expected
        assert stopped.value.pc == engine.state.PC == engine.image.symbols.get("body").address
    engine.run()
    assert engine.finish(entered).a2 == 165
    assert engine.state.budget == 1000 - 41


def test_a_stopped_call_may_be_abandoned() -> None:
    engine = summing()
    hook = engine.hook("scale", lambda guest: STOP)
    for _ in range(2):
        with pytest.raises(Stopped):
            engine.call("f", [DATA, 10])
    assert hook.hits == 2


def test_errors_of_a_callback_reach_the_caller() -> None:
    engine = summing()

    def fail(guest: GuestCall) -> None:
        raise RuntimeError("from the host")

    engine.hook("scale", fail)
    with pytest.raises(RuntimeError, match="from the host"):
        engine.call("f", [DATA, 10])


def test_the_budget_counts_across_hooks() -> None:
    engine = summing()
    engine.hook("body", lambda guest: None)
    with pytest.raises(Trap) as caught:
        engine.call("f", [DATA, 10], budget=20)
    assert caught.value.kind == TrapKind.BUDGET
    assert caught.value.context.instructions == 20
    served = engine_of("f: entry a1, 32\n _l: call8 rom\n j _l\n .align 4\n rom: .word 0")
    served.serve("rom", lambda guest: None)
    with pytest.raises(Trap) as caught:
        served.call("f", budget=1000)
    assert caught.value.kind == TrapKind.BUDGET


def test_a_restarted_instruction_is_announced_once() -> None:
    """``entry`` and ``retw`` of a deep recursion need window handlers first; a tap there fires once each."""
    text = """
    f: entry a1, 32
       beqz a2, leave
       addi a10, a2, -1
       call8 f
       addi a2, a10, 1
    leave: retw
    """
    for exceptions in ("built-in", "vectors"):
        engine = engine_of(text, exceptions=exceptions)
        install(engine)
        hooks = [engine.hook(name, lambda guest: None) for name in ("f", "leave")]
        assert engine.call("f", [20]).a2 == 20
        assert [hook.hits for hook in hooks] == [21, 21]


def test_an_interrupt_comes_before_the_hook_and_does_not_double_it() -> None:
    engine = summing(exceptions="vectors")
    hook = engine.hook("body", lambda guest: None)
    for cycles in range(1, 30):
        install(engine)
        hook.hits = 0
        entered = engine.begin("f", [DATA, 10])
        engine.state.INTENABLE = 1 << timer_number(0)
        engine.state.CCOMPARE0 = (engine.state.CCOUNT + engine.state.instructions + cycles) & 0xFFFFFFFF
        engine.interrupts.changed()
        engine.state.budget = 1000
        engine.run()
        assert engine.finish(entered).a2 == 165
        assert hook.hits == 10, cycles


def test_a_hook_may_move_the_program_counter() -> None:
    engine = summing()
    engine.hook("scale", lambda guest: guest.give_back(1234))
    assert engine.call("f", [DATA, 10]).a2 == 1234


def test_hooks_on_every_instruction_change_nothing() -> None:
    plain, hooked = summing(), summing()
    text = plain.image.segments[0].data
    expected = plain.call("f", [DATA, 10], dirty=5)
    hooks = [hooked.hook(CODE + i, lambda guest: None) for i in range(len(text))]
    result = hooked.call("f", [DATA, 10], dirty=5)
    assert (result.a2, result.instructions) == (expected.a2, expected.instructions)
    assert state_tools.compare(plain.state, hooked.state) == {}
    assert sum(hook.hits for hook in hooks) == expected.instructions


def test_bad_hooks_are_refused() -> None:
    engine = summing()
    with pytest.raises(SymbolError, match="did you mean scale"):
        engine.hook("scal", lambda guest: None)
    engine.serve(CODE, lambda guest: 0)
    with pytest.raises(HookError, match="already served"):
        engine.serve(CODE, lambda guest: 0)
