"""Two cores that race for one word, on both tiers: every interleaving is the same to the last register."""

from __future__ import annotations

import pytest

from emu.cpu import state_tools
from emu.cpu.group import EngineGroup
from emu.cpu.options import EngineOptions
from emu.cpu.schedule import Schedule
from tests.cpu.images import image_of
from tests.cpu.lab import DATA

ROUNDS = 12
RACE = """
    f: entry a1, 48
       movi a7, 0
       loop a3, _end
       nop.n
    _try: l32i a4, a2, 0
       wsr.scompare1 a4
       addi a5, a4, 1
       ee.vld.128.ip q0, a6, 0
       ee.vadds.s16 q1, q0, q1
       s32c1i a5, a2, 0
       beq a5, a4, _won
       addi a7, a7, 1
       j _try
    _won: nop.n
    _end: mov.n a10, a7
       call8 g
       mov.n a2, a10
       retw
       .align 4
    g: entry a1, 32
       addi a2, a2, 100
       retw
       .align 4
    patch: entry a1, 32
    _again: l32i a4, a2, 0
       s32i a4, a3, 0
       isync
       addi a5, a5, -1
       bnez a5, _again
       retw
    """


def _group(tier: str, schedule: Schedule) -> EngineGroup:
    options = EngineOptions(tier=tier, psram_bytes=1 << 16, guard_pages=True)  # type: ignore[arg-type]
    return EngineGroup(image_of(RACE, bytes(range(64))), options, schedule)


def _raced(tier: str, schedule: Schedule) -> tuple[int, list[dict[str, int]], list[int]]:
    group = _group(tier, schedule)
    counter = DATA + 64
    for core, dirty in ((1, 5), (0, 6)):
        group.start(core, "f", [counter, ROUNDS, 0, 0, DATA], dirty=dirty)
    group.run(budget=50_000)
    group.run(core=1, budget=50_000)
    states = [state_tools.values(core.engine.state) for core in group.cores]
    retries = [core.result.a2 - 100 for core in group.cores if core.result is not None]
    return int.from_bytes(group.memory.read(counter, 4), "little"), states, retries


@pytest.mark.parametrize("longest", [1, 3, 17, 200])
def test_every_interleaving_counts_right_and_is_the_same_on_both_tiers(longest: int) -> None:
    retried = 0
    for seed in range(8):
        stepped = _raced("stepper", Schedule(seed, longest))
        assert stepped == _raced("translator", Schedule(seed, longest)), seed
        assert stepped[0] == 2 * ROUNDS
        assert len(stepped[2]) == 2
        retried += sum(stepped[2])
    assert retried or longest > 17, "somebody must lose a race"


@pytest.mark.parametrize("longest", [1, 5, 40])
def test_a_core_rewrites_the_function_that_the_other_one_calls(longest: int) -> None:
    """``addi a2, a2, 100`` becomes ``addi a2, a2, 7``, again and again, while it is about to be executed."""
    ends = []
    for tier in ("stepper", "translator"):
        for seed in range(6):
            group = _group(tier, Schedule(seed, longest))
            place = group.cores[0].engine.image.symbols.get("g").address
            old = group.memory.read(place, 8)
            group.memory.write(DATA + 32, old[4:5] + bytes([7]) + old[6:])
            alias = place + 4 - (0x40378000 - 0x3FC88000)
            group.start(1, "patch", [DATA + 32, alias, 0, 30])
            group.start(0, "f", [DATA + 64, ROUNDS, 0, 0, DATA])
            group.run(budget=50_000)
            result = group.cores[0].result
            assert result is not None
            ends.append((seed, result.a2, state_tools.values(group.cores[0].engine.state)))
    half = len(ends) // 2
    assert ends[:half] == ends[half:]
    assert {a2 for _, a2, _ in ends} <= {7, 100}, "core 1 does not touch the counter: nobody retries"
