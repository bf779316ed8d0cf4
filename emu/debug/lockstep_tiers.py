"""One image on two engines of which at least one translates: searching for the instruction.

A translator runs units, not instructions: with a budget of n instructions it runs whole units as long as the
budget lasts and steps the rest. With units of one instruction it has a state after each of them, which can be
compared. The search:

1. run both to the end with units as large as ever; when nothing differs, there is no difference;
2. with units of one instruction, run both in chunks, from equal states, until a chunk ends with a difference;
3. inside of the chunk, find the smallest n after which they differ: the instruction before is the one.

A fault that shows in larger units only (an optimisation, a loop) is searched for with units of 4, 16, 64 and
any number of instructions; then the place is known up to a few units: one with too little budget left is
not run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from emu.cpu.engine import RETURN_ADDRESS, Engine
from emu.cpu.translator.discover import LIMIT
from emu.cpu.traps import Trap, TrapKind
from emu.debug.calls import Call, start
from emu.debug.changes import changes, equal, live_words
from emu.debug.difference import Difference, Kind, Side, Value, side_of
from emu.debug.lockstep_steps import same_trap
from emu.debug.record import Step, reads_of
from emu.debug.snapshot import Snapshot, memory_differences

UNIT_LIMITS = (1, 4, 16, 64, LIMIT)
FIRST_CHUNK, LARGEST_CHUNK = 256, 1 << 16
ONLY_WITHOUT_PAUSE = (
    "the engines differ when they run without a pause, and agree when they are stopped in between: the place "
    "is where they differ first when they are run from the start"
)

Snapshots = tuple[Snapshot, Snapshot]


@dataclass
class _Pair:
    """Two engines that are run from the same machine again and again."""

    a: Engine
    b: Engine

    def save(self) -> Snapshots:
        return Snapshot(self.a), Snapshot(self.b)

    def restore(self, saved: Snapshots) -> None:
        saved[0].restore(self.a)
        saved[1].restore(self.b)

    def limit_units(self, limit: int) -> None:
        for engine in (self.a, self.b):
            if engine.options.tier == "translator":
                engine.tier.limit_units(limit)  # type: ignore[attr-defined]

    def differ(self, left: Trap | None, right: Trap | None) -> bool:
        """True when states, memories or traps are not the same."""
        if (left is not None or right is not None) and not same_trap(left, right):
            return True
        if not equal(live_words(self.a.state), live_words(self.b.state)):
            return True
        return bool(memory_differences(self.a, self.b, 1))

    def advance(self, count: int) -> bool:
        """Run both for ``count`` instructions; True when they differ then."""
        return self.differ(run_for(self.a, count), run_for(self.b, count))

    @property
    def is_over(self) -> bool:
        return bool(self.a.state.PC == RETURN_ADDRESS)


def run_for(engine: Engine, count: int) -> Trap | None:
    """Run an engine's own tier for at most ``count`` instructions; a trap other than the budget's."""
    engine.state.budget = count
    try:
        if count > 0 and engine.state.PC != RETURN_ADDRESS:
            engine.run()
    except Trap as trap:
        return None if trap.kind is TrapKind.BUDGET else trap
    return None


def compare(engine_a: Engine, engine_b: Engine, call_a: Call, call_b: Call) -> Difference | None:
    """See :func:`emu.debug.lockstep.first_difference`."""
    pair = _Pair(engine_a, engine_b)
    start(engine_a, call_a)
    start(engine_b, call_b)
    began = pair.save()
    if not pair.advance(call_a.budget):
        return None
    total = max(_executed(pair, began), 1)
    try:
        return _search(pair, began, total)
    finally:
        pair.limit_units(LIMIT)


def _search(pair: _Pair, began: Snapshots, total: int) -> Difference:
    for limit in UNIT_LIMITS:
        pair.limit_units(limit)
        pair.restore(began)
        chunk = _differing_chunk(pair, total)
        if chunk is not None:
            base, saved, size = chunk
            count = _smallest_count(pair, saved, size)
            return _difference(pair, saved, base, count, _precision(limit))
    count = _smallest_count(pair, began, total)
    return _difference(pair, began, 0, count, ONLY_WITHOUT_PAUSE)


def _precision(limit: int) -> str:
    if limit == 1:
        return ""
    return (
        "only translated units of more than one instruction differ: the fault lies in this instruction or "
        f"before it, not further than a few units of up to {limit} instructions"
    )


def _executed(pair: _Pair, began: Snapshots) -> int:
    """Instructions since a snapshot, of the engine that executed more, and one that may have trapped."""
    counts = (
        int(engine.state.instructions) - int(snapshot.state.instructions)
        for engine, snapshot in zip((pair.a, pair.b), began, strict=True)
    )
    return max(counts) + 1


def _differing_chunk(pair: _Pair, total: int) -> tuple[int, Snapshots, int] | None:
    """The first chunk with a difference at its end: instructions before it, the machines, its length."""
    base, size = 0, FIRST_CHUNK
    while base < total:
        saved = pair.save()
        if pair.advance(size):
            return base, saved, size
        if pair.is_over:
            return None
        base += size
        size = min(2 * size, LARGEST_CHUNK)
    return None


def _smallest_count(pair: _Pair, saved: Snapshots, known: int) -> int:
    def differs(count: int) -> bool:
        pair.restore(saved)
        return pair.advance(count)

    return smallest(differs, known)


def smallest(differs: Callable[[int], bool], known: int) -> int:
    """An n in 1..known with ``differs(n)`` and not ``differs(n - 1)``; ``differs(known)`` holds."""
    low = 0
    while known - low > 1:
        middle = (low + known) // 2
        if differs(middle):
            known = middle
        else:
            low = middle
    return known


def _difference(pair: _Pair, saved: Snapshots, base: int, count: int, note: str) -> Difference:
    """The difference that is there after ``count`` instructions from ``saved`` and not before."""
    pair.restore(saved)
    left, a = _last(pair.a, base, count)
    right, b = _last(pair.b, base, count)
    found = changes(live_words(pair.b.state), live_words(pair.a.state), frozenset())
    values = [Value(c.name, c.after, c.before, c.bits) for c in found]
    values += [Value("memory", x, y, 8, place) for place, x, y in memory_differences(pair.a, pair.b)]
    is_trap = (left is not None or right is not None) and not same_trap(left, right)
    is_flow = [value.name for value in values] == ["PC"]
    kind = Kind.TRAP if is_trap else Kind.FLOW if is_flow else Kind.EFFECT
    return Difference(kind, base + count - 1, a, b, tuple(values), (note,) if note else ())


def _last(engine: Engine, base: int, count: int) -> tuple[Trap | None, Side]:
    """Run ``count`` instructions, the last one by itself: its trap, and the engine's side there."""
    trap = run_for(engine, count - 1)
    state = engine.state
    before, pc = live_words(state).copy(), int(state.PC)
    plan = engine.stepper.plan_at(pc)
    reads = reads_of(state, plan) if plan is not None else {}
    trap = trap or run_for(engine, 1)
    found = changes(before, live_words(state))
    step = Step(base + count - 1, pc, int(state.PC), plan, reads, found, [], trap=trap)
    return trap, side_of(engine, pc, step, trap or "")
