"""Two cores: atomic operations, schedules that find races, deadlocks that are proved; on both tiers."""

from __future__ import annotations

import pytest

from emu.cpu.engine import Engine
from emu.cpu.group import EngineGroup
from emu.cpu.hooks import GuestCall
from emu.cpu.loader import Span
from emu.cpu.options import EngineOptions
from emu.cpu.schedule import Schedule
from emu.cpu.traps import Trap, TrapKind
from tests.cpu import images
from tests.cpu.handlers import install
from tests.cpu.images import image_of
from tests.cpu.lab import DATA

LOCKED = """
    work: entry a1, 32
    _next: movi a5, 0
       wsr.scompare1 a5
    _try: movi a6, 1
       s32c1i a6, a3, 0
       bnez a6, _try
       memw
       l32i a7, a2, 0
       addi a7, a7, 1
       s32i a7, a2, 0
       memw
       s32i a5, a3, 0
       addi a4, a4, -1
       bnez a4, _next
       rsr.prid a2
       retw
"""
UNLOCKED = """
    work: entry a1, 32
    _next: l32i a7, a2, 0
       addi a7, a7, 1
       s32i a7, a2, 0
       addi a4, a4, -1
       bnez a4, _next
       retw
"""
COUNTER, LOCK, OTHER = DATA, DATA + 64, DATA + 128
ROUNDS = 30
SEEDS = range(8)


@pytest.fixture(params=images.TIERS, autouse=True)
def tier(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Every test here runs on both tiers."""
    monkeypatch.setattr(images, "TIER", request.param)
    return str(request.param)


def group_of(text: str, schedule: Schedule | None = None, **options: object) -> EngineGroup:
    made = EngineOptions(**{"tier": images.TIER, **options})  # type: ignore[arg-type]
    return EngineGroup(image_of(text), made, schedule)


def word(group: EngineGroup, address: int) -> int:
    return int.from_bytes(group.memory.read(address, 4), "little")


def count(text: str, schedule: Schedule) -> int:
    """Both cores add 1 to one counter ROUNDS times; what it is in the end."""
    group = group_of(text, schedule)
    group.start(1, "work", [COUNTER, LOCK, ROUNDS])
    group.call("work", [COUNTER, LOCK, ROUNDS], budget=100_000)
    group.run(core=1, budget=100_000)
    return word(group, COUNTER)


def test_the_cores_know_who_they_are() -> None:
    group = group_of(LOCKED)
    group.start(1, "work", [COUNTER, LOCK, 1])
    assert group.call("work", [COUNTER, LOCK, 1]).a2 == 0xCDCD
    group.run(core=1)
    result = group.cores[1].result
    assert result is not None
    assert result.a2 == 0xABAB


def test_a_lock_makes_every_interleaving_count_right() -> None:
    """S32C1I is atomic across the cores."""
    for schedule in (Schedule(), Schedule(longest=1), *(Schedule(seed, 12) for seed in SEEDS)):
        assert count(LOCKED, schedule) == 2 * ROUNDS, schedule


def test_a_missing_lock_is_found_by_some_interleaving() -> None:
    counts = [count(UNLOCKED, Schedule(seed, 12)) for seed in SEEDS]
    assert min(counts) < 2 * ROUNDS
    assert all(ROUNDS <= n <= 2 * ROUNDS for n in counts)
    assert len(set(counts)) > 2
    assert count(UNLOCKED, Schedule(longest=10_000)) == 2 * ROUNDS


@pytest.mark.parametrize("tier", ["translator"], indirect=True)
def test_tiers_take_the_same_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = []
    for tier in images.TIERS:
        monkeypatch.setattr(images, "TIER", tier)
        counts.append([count(UNLOCKED, Schedule(seed, 20)) for seed in SEEDS])
    assert counts[0] == counts[1]


MESSAGE = """
    send: entry a1, 32
       movi a5, 77
       s32i a5, a2, 0
       memw
       movi a5, 1
       s32i a5, a3, 0
       retw
       .align 4
    receive: entry a1, 32
    _wait: {wait}
       memw
       l32i a2, a2, 0
       retw
"""


@pytest.mark.parametrize(
    ("wait", "is_right"), [("l32i a4, a3, 0\n beqz a4, _wait", True), ("l32i a4, a3, 0", False)]
)
def test_a_receiver_that_does_not_wait_is_found(wait: str, is_right: bool) -> None:
    seen = set()
    for seed in range(12):
        group = group_of(MESSAGE.format(wait=wait), Schedule(seed, 10))
        group.start(1, "send", [COUNTER, LOCK])
        seen.add(group.call("receive", [COUNTER, LOCK], budget=10_000).a2)
    assert seen == ({77} if is_right else {0, 77})


OPPOSITE = """
    work: entry a1, 32
    _again: mov.n a10, a2
       call8 take
       mov.n a10, a3
       call8 take
       movi a5, 0
       s32i a5, a3, 0
       s32i a5, a2, 0
       addi a4, a4, -1
       bnez a4, _again
       retw
       .align 4
    take: entry a1, 32
       movi a5, 0
       wsr.scompare1 a5
    _spin: movi a6, 1
       s32c1i a6, a2, 0
       bnez a6, _spin
       memw
       retw
"""


def deadlock(schedule: Schedule) -> Trap | None:
    """Two cores take two locks in opposite order."""
    group = group_of(OPPOSITE, schedule)
    group.start(1, "work", [OTHER, LOCK, 20])
    try:
        group.call("work", [LOCK, OTHER, 20], budget=200_000)
    except Trap as trap:
        return trap
    return None


def test_a_deadlock_is_proved_and_both_places_are_named() -> None:
    traps = [deadlock(Schedule(seed, 12)) for seed in range(6)]
    found = [trap for trap in traps if trap is not None]
    assert len(found) >= 3
    for trap in found:
        assert trap.kind == TrapKind.DEADLOCK
        assert trap.message.count("take+") == 2
        assert "core 0 loops at" in trap.message
        assert "core 1 loops at" in trap.message
        assert trap.context.instructions < 20_000
    assert deadlock(Schedule(longest=10_000)) is None


def test_waiting_for_a_core_that_was_never_started() -> None:
    group = group_of(MESSAGE.format(wait="l32i a4, a3, 0\n beqz a4, _wait"))
    with pytest.raises(Trap, match="core 1 was never started") as caught:
        group.call("receive", [COUNTER, LOCK])
    assert caught.value.kind == TrapKind.DEADLOCK


SLOW = """
    receive: entry a1, 32
    _wait: movi a5, 200
    _delay: addi a5, a5, -1
       bnez a5, _delay
       l32i a4, a3, 0
       beqz a4, _wait
       retw
       .align 4
    send: entry a1, 32
       loop a2, _end
       addi a4, a4, 1
    _end: movi a5, 1
       s32i a5, a3, 0
       retw
"""


def test_waiting_long_is_no_deadlock() -> None:
    """A spinning core and one that is busy with registers only: the busy one gets on."""
    for seed in range(2):
        group = group_of(SLOW, Schedule(seed, 50))
        group.start(1, "send", [6000, LOCK])
        group.call("receive", [0, LOCK], budget=60_000)


@pytest.mark.parametrize("seed", [None, 1])
def test_a_delay_loop_inside_the_wait_is_still_a_deadlock(seed: int | None) -> None:
    group = group_of(SLOW, Schedule(seed, 50))
    with pytest.raises(Trap) as caught:
        group.call("receive", [0, LOCK], budget=200_000)
    assert caught.value.kind == TrapKind.DEADLOCK


TIMEOUT = """
    receive: entry a1, 32
       rsr.ccount a5
    _wait: l32i a4, a3, 0
       rsr.ccount a6
       sub a6, a6, a5
       bltu a6, a2, _wait
       movi a2, 99
       retw
"""


def test_a_wait_with_a_timeout_is_no_deadlock() -> None:
    group = group_of(TIMEOUT, Schedule(longest=3))
    assert group.call("receive", [20_000, LOCK], budget=100_000).a2 == 99


WAITERS = """
    sleeper: entry a1, 32
       waiti 0
       movi a2, 5
       retw
       .align 4
    main: entry a1, 32
       call8 bell
       movi a4, 100
    _l: addi a4, a4, -1
       bnez a4, _l
       retw
       .align 4
    bell: .word 0
"""


def test_one_core_wakes_the_other() -> None:
    """A line raised by a device (here: a function of the host) ends the wait of core 1."""
    group = group_of(WAITERS, Schedule(longest=20), exceptions="vectors")
    other = group.cores[1].engine
    install(group.cores[0].engine)
    other.state.VECBASE = group.cores[0].engine.state.VECBASE
    group.start(1, "sleeper")
    other.state.INTENABLE = 1 << 10

    def ring(guest: GuestCall) -> None:
        assert other.interrupts.is_waiting
        group.raise_interrupt(1, 10)

    for core in group.cores:
        core.engine.serve("bell", ring)
    while not other.interrupts.is_waiting:
        other.stepper.step()
    group.call("main", budget=10_000)
    group.run(core=1, budget=10_000)
    result = group.cores[1].result
    assert result is not None
    assert result.a2 == 5
    assert other.interrupts.taken == {1: 1}


def test_all_cores_asleep_is_a_deadlock() -> None:
    group = group_of(WAITERS)
    group.start(1, "sleeper")
    with pytest.raises(Trap, match=r"core 0 waits .*; core 1 waits") as caught:
        group.call("sleeper")
    assert caught.value.kind == TrapKind.DEADLOCK


def test_stacks_are_apart_and_may_be_chosen() -> None:
    group = group_of(LOCKED)
    first, second = (core.engine.stack for core in group.cores)
    assert second.end <= first.start
    place = Span(group.cores[0].engine.arena.start, 4096)
    group.start(1, "work", [COUNTER, LOCK, 1], stack=place)
    state = group.cores[1].engine.state
    assert place.start < state.get_a(1) < place.end
    group.run(core=1)


def test_traps_of_the_other_core_say_so() -> None:
    group = group_of("bad: entry a1, 32\n ill\n .align 4\n work: entry a1, 32\n _l: j _l")
    group.start(1, "bad")
    with pytest.raises(Trap, match="core 1: ") as caught:
        group.call("work")
    assert caught.value.kind == TrapKind.ILLEGAL
    group = group_of(SLOW)
    group.start(1, "send", [0xFFFFFFF, LOCK])
    with pytest.raises(Trap) as caught:
        group.call("receive", [0, LOCK], budget=5000)
    assert caught.value.kind == TrapKind.BUDGET
    assert group.executed == 5000


def test_missing_hardware_and_findings_belong_to_the_core_that_met_them() -> None:
    text = (
        "work: entry a1, 32\n l32i a2, a2, 0\n retw\n .align 4\n other: entry a1, 32\n l32i a2, a2, 0\n retw"
    )
    group = group_of(text)
    group.start(1, "other", [0x60000000])
    group.call("work", [COUNTER])
    with pytest.raises(Trap, match=r"core 1: .*UART0") as caught:
        group.run(core=1)
    assert caught.value.where.symbol == "other"
    group = group_of(text, check=True)
    arena = group.cores[0].engine.arena.start
    group.start(1, "other", [arena])
    group.call("work", [COUNTER])
    group.run(core=1)
    assert group.cores[0].engine.diagnostics.findings() == ()
    ((finding),) = group.cores[1].engine.diagnostics.findings()
    assert finding.pc == group.cores[1].engine.image.symbols.get("other").address + 3


def test_bounds_hold_for_both_cores() -> None:
    group = group_of(LOCKED, bounds=True)
    group.start(1, "work", [COUNTER, LOCK, 2])
    group.call("work", [COUNTER, LOCK, 2])
    group.run(core=1)
    arena = group.cores[0].engine.arena.start
    group.start(1, "work", [arena, LOCK, 2])
    with pytest.raises(Trap) as caught:
        group.run(core=1)
    assert caught.value.kind == TrapKind.BOUNDS_READ


def test_code_that_one_core_changes_is_new_for_the_other() -> None:
    text = "get: entry a1, 32\n _m: movi a2, 1\n retw\n .align 4\n put: entry a1, 32\n s8i a3, a2, 0\n retw"
    group = group_of(text)
    group.start(1, "get")
    group.run(core=1)
    engine = group.cores[0].engine
    place = engine.image.symbols.get("get").address + 3 + 2
    assert engine.memory.read(place, 1) == b"\x01"
    assert group.call("put", [place, 9]).instructions == 3
    group.start(1, "get")
    group.run(core=1)
    result = group.cores[1].result
    assert result is not None
    assert result.a2 == 9


def test_a_schedule_needs_turns() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        Schedule(longest=0)
    assert isinstance(group_of(LOCKED).cores[0].engine, Engine)
