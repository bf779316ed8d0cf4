"""Timers and interrupts: where they are taken, on both tiers; priorities, waiting, lines of devices."""

from __future__ import annotations

import itertools
import random

import pytest

from emu.cpu import state_tools
from emu.cpu.engine import Engine
from emu.cpu.exceptions import setting
from emu.cpu.interrupts import level_mask, level_of, timer_number, type_of
from emu.cpu.traps import Trap, TrapKind
from tests.cpu import images
from tests.cpu.handlers import BEFORE_CCOUNT, install, log_of
from tests.cpu.images import engine_of
from tests.cpu.lab import CODE, DATA

WORK = """
    f: entry a1, 48
       movi a4, 0
       movi a5, 7
       loop a5, _end
       addi a4, a4, 1
       addx2 a4, a4, a4
    _end: mov.n a10, a4
       call8 g
       s32i a10, a2, 0
       addi a3, a3, -1
       bnez a3, _again
       mov.n a2, a10
       retw
    _again: movi a10, 3
       call4 h
       j f+3
       .align 4
    g: entry a1, 32
       xor a2, a2, a3
       srli a2, a2, 1
       retw
       .align 4
    h: entry a1, 32
       ee.zero.qacc
       add.s f1, f2, f3
       retw
"""
"""A hardware loop, calls, branches, float and vector instructions; a3 rounds."""
TIMER_LEVELS = {6: 1, 15: 3, 16: 5}


@pytest.fixture(params=images.TIERS, autouse=True)
def tier(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Every test here runs on both tiers."""
    monkeypatch.setattr(images, "TIER", request.param)
    return str(request.param)


def engine_with(text: str = WORK, more: dict[int, str] | None = None, **options: object) -> Engine:
    engine = engine_of(text, exceptions="vectors", **options)
    install(engine, more)
    return engine


def arm(engine: Engine, timer: int, cycles: int) -> int:
    """Let a timer fire ``cycles`` instructions from now; the value of CCOUNT then."""
    state = engine.state
    at = (state.CCOUNT + state.instructions + cycles) & 0xFFFFFFFF
    setattr(state, f"CCOMPARE{timer}", at)
    state.INTENABLE |= 1 << timer_number(timer)
    engine.interrupts.changed()
    return at


def test_numbers_and_levels_are_those_of_the_core() -> None:
    assert {timer_number(n): level_of(timer_number(n)) for n in range(3)} == TIMER_LEVELS
    assert all(level_mask(level_of(n)) >> n & 1 for n in range(32))
    assert [n for n in range(32) if type_of(n) == "software"] == [7, 29]
    assert sum(level_mask(level) for level in range(1, 8)) == 0xFFFFFFFF


@pytest.mark.parametrize("timer", range(3))
def test_a_timer_is_taken_exactly_at_its_instruction(timer: int, tier: str) -> None:
    """The handler sees CCOUNT exactly as many instructions behind CCOMPARE as it has executed itself."""
    engine = engine_with()
    plain = engine_with()
    entered = plain.begin("f", [DATA, 4])
    plain.state.budget = 10_000
    for cycles in [*range(1, 40), 97]:
        while plain.state.instructions < cycles:
            plain.stepper.step()
        assert plain.interrupts.taken == {}
        engine.reset()
        install(engine)
        engine.begin("f", [DATA, 4])
        at = arm(engine, timer, cycles)
        engine.state.budget = 10_000
        engine.run()
        ((level, epc, ccount, pending),) = log_of(engine)
        number = timer_number(timer)
        assert level == TIMER_LEVELS[number]
        assert ccount == (at + BEFORE_CCOUNT) & 0xFFFFFFFF
        assert epc == plain.state.PC, cycles
        assert pending >> number & 1
    assert entered.address == CODE


def test_the_budget_ends_a_run_at_exactly_its_instruction() -> None:
    """Calls, returns, loops and branches: wherever the budget ends, the run stands there."""
    engine, plain = engine_with(), engine_with(tier="stepper")
    plain.begin("f", [DATA, 4])
    for budget in range(1, 120):
        plain.state.budget = 1
        plain.advance()
        engine.begin("f", [DATA, 4])
        before = engine.state.instructions
        engine.state.budget = budget
        engine.advance()
        assert (engine.state.instructions - before, engine.state.PC) == (budget, plain.state.PC)


def outcome(engine: Engine, seed: int) -> tuple[object, ...]:
    """Everything after a run under a storm of timers and lines."""
    rng = random.Random(seed)
    engine.reset()
    install(engine, {1: STORM[0], 3: STORM[1], 5: STORM[2]})
    state_tools.dirty(engine.state, seed)
    engine.begin("f", [DATA, 20])
    engine.state.CCOUNT = rng.choice((0, rng.getrandbits(32), 0xFFFFFFFF - rng.randrange(200)))
    for timer in range(3):
        arm(engine, timer, rng.randrange(1, 400))
    for _ in range(6):
        engine.state.budget = rng.randrange(1, 300)
        engine.advance()
        # An NMI inside its own handler would lose EPC7, on the chip too.
        engine.raise_interrupt(rng.choice((22, 28, 30, 10) if engine.state.PSINTLEVEL == 7 else (14, 22, 30)))
        engine.state.INTENABLE |= 0x5440_0400
    engine.state.budget = 100_000
    engine.run()
    return state_tools.values(engine.state), engine.memory.read(DATA, 0x4000), engine.state.instructions


STORM = (
    "rsr.ccompare0 a3\n addi a3, a3, 97\n wsr.ccompare0 a3",
    "rsr.ccompare1 a3\n addi a3, a3, 120\n wsr.ccompare1 a3",
    "rsr.ccompare2 a3\n addmi a3, a3, 256\n wsr.ccompare2 a3",
)
"""Periodic timers, as an operating system sets them."""


@pytest.mark.parametrize("tier", ["translator"], indirect=True)
def test_tiers_agree_under_a_storm_of_interrupts() -> None:
    translated, stepped = engine_with(tier="translator"), engine_with(tier="stepper")
    for seed in range(6):
        here, there = outcome(translated, seed), outcome(stepped, seed)
        assert here[2] == there[2]
        assert here[0] == there[0]
        assert here[1] == there[1]
        taken = translated.interrupts.taken
        assert taken == stepped.interrupts.taken
        assert {1, 3, 5, 7} <= set(taken)


def test_the_program_does_not_notice(tier: str) -> None:
    """Interrupted or not, the function returns the same, and what it may rely on is the same."""
    engine, plain = engine_with(), engine_with()
    expected = plain.call("f", [DATA, 5])
    install(engine, {1: STORM[0]})
    engine.begin("f", [DATA, 5])
    arm(engine, 0, 3)
    engine.state.budget = 100_000
    engine.run()
    assert engine.state.ar[10] == expected.a2
    assert engine.memory.read(DATA, 16) == plain.memory.read(DATA, 16)
    assert engine.interrupts.taken[1] > 2


LONG_LOOP = """
    f: entry a1, 48
       ee.zero.accx
       ee.zero.qacc
       movi a6, 3
    _rows: mov.n a4, a2
       ee.vld.128.ip q0, a4, 16
       loop a3, _end
       ee.vmulas.s8.accx.ld.ip q1, a4, 16, q0, q1
       ee.vmulas.s8.qacc q0, q1
       addi a7, a7, 1
    _end: addi a6, a6, -1
       bnez a6, _rows
       rur.accx_0 a2
       retw
"""


def long_loop(engine: Engine, cycles: int) -> tuple[object, ...]:
    """A loop over 12 KiB, interrupted after ``cycles`` instructions."""
    engine.reset()
    install(engine)
    state_tools.dirty(engine.state, 3)
    engine.begin("f", [engine.arena.start, 700])
    at = arm(engine, 1, cycles)
    engine.state.budget = 100_000
    engine.run()
    return at, log_of(engine), state_tools.values(engine.state), engine.state.instructions


@pytest.mark.parametrize("tier", ["translator"], indirect=True)
def test_a_timer_inside_a_long_vector_loop() -> None:
    """Fast versions of loops end where the interrupt is taken."""
    engines = [engine_with(LONG_LOOP, tier=tier) for tier in images.TIERS]
    for engine in engines:
        engine.memory.write(engine.arena.start, random.Random(1).randbytes(12_000))
    for cycles in (1, 8, 100, 1001, 1002, 1003, 2107, 2108, 2109, 5000, 6300):
        stepped, translated = (long_loop(engine, cycles) for engine in engines)
        assert len(stepped[1]) == 1  # type: ignore[arg-type]
        assert translated == stepped, cycles


SOFTWARE = """
    f: entry a1, 32
       wsr.intenable a2
       wsr.intset a3
       nop
       nop
       rsr.interrupt a2
       retw
"""


def test_the_highest_level_comes_first_and_the_other_follows_it() -> None:
    both = 1 << 7 | 1 << 29
    engine = engine_with(SOFTWARE)
    assert engine.call("f", [both, both]).a2 == 0
    assert [entry[0] for entry in log_of(engine)] == [3, 1]
    assert [entry[1] for entry in log_of(engine)] == [CODE + 9, CODE + 9]


def test_a_disabled_interrupt_stays_requested() -> None:
    engine = engine_with(SOFTWARE)
    assert engine.call("f", [0, 1 << 7]).a2 == 1 << 7
    assert log_of(engine) == []
    assert engine.call("f", [1 << 7, 0]).a2 == 0
    assert [entry[0] for entry in log_of(engine)] == [1]


CRITICAL = """
    f: entry a1, 32
       movi a4, 0
       rsil a3, {level}
       wsr.intset a2
       addi a4, a4, 1
       addi a4, a4, 1
       wsr.ps a3
       addi a4, a4, 1
       mov.n a2, a4
       retw
"""


@pytest.mark.parametrize(("level", "number", "at"), [(1, 7, 21), (2, 7, 21), (2, 29, 12), (3, 29, 21)])
def test_a_critical_section_delays_exactly_to_its_end(level: int, number: int, at: int) -> None:
    engine = engine_with(CRITICAL.format(level=level))
    engine.state.INTENABLE = 1 << number
    assert engine.call("f", [1 << number]).a2 == 3
    assert [(entry[0], entry[1]) for entry in log_of(engine)] == [(level_of(number), CODE + at)]


def test_a_handler_is_interrupted_by_levels_above_three_only() -> None:
    """PS.EXCM stands for level 3 (XCHAL_EXCM_LEVEL)."""
    engine = engine_with(more={1: "nop\n nop\n nop"})
    engine.state.INTENABLE = 1 << 10 | 1 << 22 | 1 << 24
    engine.begin("f", [DATA, 1])
    engine.raise_interrupt(10)
    engine.state.budget = 18
    engine.advance()
    assert engine.interrupts.taken == {1: 1}
    assert engine.state.PSEXCM == 1
    engine.raise_interrupt(22)
    engine.raise_interrupt(24)
    engine.state.budget = 5
    engine.advance()
    assert engine.interrupts.taken == {1: 1, 4: 1}
    engine.lower_interrupt(24)
    engine.state.budget = 10_000
    engine.run()
    assert engine.interrupts.taken == {1: 1, 4: 1, 3: 1}


def test_level_triggered_lines_stay_until_the_device_lowers_them() -> None:
    engine = engine_with(SOFTWARE)
    engine.raise_interrupt(0)
    assert engine.call("f", [0, 0]).a2 == 1
    engine.state.budget = 2000
    engine.begin("f", [1, 0])
    engine.advance()
    again = engine.interrupts.taken[1]
    assert again > 10
    engine.lower_interrupt(0)
    engine.state.budget = 2000
    engine.run()
    assert engine.interrupts.taken[1] == again
    assert engine.state.ar[10] == 0


def test_edge_triggered_lines_are_latched_and_cleared_by_software() -> None:
    engine = engine_with(SOFTWARE)
    engine.raise_interrupt(22)
    engine.lower_interrupt(22)
    assert engine.call("f", [1 << 22, 0]).a2 == 0
    assert [entry[0] for entry in log_of(engine)] == [3]


def test_the_nmi_cannot_be_masked() -> None:
    engine = engine_with(CRITICAL.format(level=15))
    engine.begin("f", [0])
    engine.state.INTENABLE = 0
    engine.state.budget = 3
    engine.advance()
    assert engine.state.PSINTLEVEL == 15
    engine.raise_interrupt(14)
    engine.state.budget = 1000
    engine.run()
    assert [(entry[0], entry[1]) for entry in log_of(engine)] == [(7, CODE + 9)]
    assert engine.state.ar[10] == 3


@pytest.mark.parametrize("number", [6, 7, 11, 15, 16, 29, 32, -1])
def test_devices_cannot_raise_the_cores_own_interrupts(number: int) -> None:
    with pytest.raises(ValueError, match="interrupt"):
        engine_with(SOFTWARE).raise_interrupt(number)


def test_without_handlers_an_interrupt_is_a_trap_that_says_so() -> None:
    engine = engine_of(SOFTWARE)
    with pytest.raises(Trap, match="vectors") as caught:
        engine.call("f", [1 << 7, 1 << 7])
    assert caught.value.kind == TrapKind.INTERRUPT
    assert "interrupt 7 (level 1)" in str(caught.value)


WAIT = """
    f: entry a1, 32
       rsr.ccount a4
       add a3, a4, a3
       wsr.ccompare0 a3
       waiti 0
       rsr.ccount a2
       sub a2, a2, a3
       retw
"""


def test_waiting_lets_the_time_pass_and_costs_no_instructions() -> None:
    engine = engine_with(WAIT)
    engine.state.INTENABLE = 1 << timer_number(0)
    result = engine.call("f", [0, 1_000_000], budget=200)
    ((level, epc, ccount, _),) = log_of(engine)
    assert (level, epc) == (1, CODE + 15)
    assert ccount == (engine.state.CCOMPARE0 + BEFORE_CCOUNT) & 0xFFFFFFFF
    assert result.a2 == result.instructions - 8
    assert engine.interrupts.waited == 1_000_000 - 4


def test_alarms_of_the_host_come_in_front_of_the_same_instruction() -> None:
    """A device with a sense of time: it raises a line at given cycles and sets its next alarm."""
    seen: dict[str, list[tuple[int, int]]] = {}
    for tier in images.TIERS:
        engine = engine_with(tier=tier)
        engine.begin("f", [DATA, 20])
        engine.state.INTENABLE = 1 << 10
        places = seen.setdefault(tier, [])

        def tick(engine: Engine = engine, places: list[tuple[int, int]] = places) -> None:
            places.append((engine.interrupts.cycles, engine.state.PC))
            engine.raise_interrupt(10)
            if len(places) < 8:
                engine.call_at(places[-1][0] + 61, tick)

        engine.call_at(17, tick)
        engine.state.budget = 10_000
        engine.run()
        assert [cycle for cycle, _ in places] == [17 + 61 * i for i in range(8)]
        assert engine.interrupts.taken == {1: 8}
        assert not engine.interrupts.has_alarms
    assert seen["stepper"] == seen["translator"]


def test_an_alarm_ends_a_wait() -> None:
    engine = engine_with(WAIT)
    engine.begin("f", [0, 5])
    engine.state.INTENABLE = 1 << 10
    engine.call_at(50_000, lambda: None)
    engine.call_at(70_000, lambda: engine.raise_interrupt(10))
    engine.state.budget = 200
    engine.run()
    assert [entry[:2] for entry in log_of(engine)] == [(1, CODE + 15)]
    assert engine.interrupts.waited == 70_000 - 5
    assert engine.interrupts.cycles == 70_000 + engine.state.instructions - 5


def test_waiting_for_nothing_is_a_trap() -> None:
    engine = engine_with(WAIT)
    with pytest.raises(Trap, match="waiti") as caught:
        engine.call("f", [0, 100])
    assert caught.value.kind == TrapKind.SERVICE
    engine.state.INTENABLE = 1 << timer_number(0)
    engine.call("f", [0, 100])


def test_a_request_that_is_already_there_ends_a_wait_at_once() -> None:
    engine = engine_with(WAIT)
    engine.begin("f", [0, 1 << 20])
    engine.state.INTENABLE = 1 << 10
    engine.state.PSINTLEVEL = 1
    engine.raise_interrupt(10)
    engine.state.budget = 200
    engine.run()
    assert [entry[:2] for entry in log_of(engine)] == [(1, CODE + 15)]
    assert engine.interrupts.waited == 0


@pytest.mark.parametrize("timer", range(3))
def test_the_timer_works_across_the_wrap_of_the_counter(timer: int) -> None:
    """B064: CCOUNT passes 2**32 (268.435456 s at 16 MHz) and the compare value lies behind it."""
    engine = engine_with()
    engine.begin("f", [DATA, 3])
    engine.state.CCOUNT = (0xFFFFFFFE - engine.state.instructions) & 0xFFFFFFFF
    assert arm(engine, timer, 7) == 5
    engine.state.budget = 10_000
    engine.run()
    ((_, _, ccount, _),) = log_of(engine)
    assert ccount == 5 + BEFORE_CCOUNT


def test_the_counter_is_monotonic_over_the_wrap() -> None:
    """B064: differences of CCOUNT count instructions on both sides of 2**32."""
    text = "f: entry a1, 32\n movi a4, 12\n _l: rsr.ccount a5\n s32i a5, a2, 0\n addi a2, a2, 4\n"
    text += " addi a4, a4, -1\n bnez a4, _l\n retw"
    engine = engine_of(text)
    engine.state.CCOUNT = 0xFFFFFFE0
    engine.call("f", [DATA])
    data = engine.memory.read(DATA, 48)
    seen = [int.from_bytes(data[i : i + 4], "little") for i in range(0, 48, 4)]
    assert [(b - a) & 0xFFFFFFFF for a, b in itertools.pairwise(seen)] == [5] * 11
    assert seen[0] > seen[-1]


def test_a_timer_far_away_in_time() -> None:
    """Waiting twice the span of the counter in small compare steps: no drift, no lost interrupt."""
    engine = engine_with(WAIT)
    engine.state.INTENABLE = 1 << timer_number(0)
    total = 0
    for _ in range(5):
        engine.call("f", [0, 0xF0000000], budget=200)
        total += 0xF0000000 - 4
    assert engine.interrupts.waited == total
    assert engine.interrupts.taken == {1: 5}


def test_offsets_of_vectors_come_from_the_core_configuration() -> None:
    assert setting("XCHAL_INTLEVEL7_VECOFS") == setting("XCHAL_NMI_VECOFS")
