"""Two reference steppers on one image, compared after every instruction."""

from __future__ import annotations

from dataclasses import dataclass

from emu.cpu.engine import RETURN_ADDRESS, Engine
from emu.cpu.plan import Plan
from emu.cpu.state import CpuState, new_state
from emu.cpu.traps import Trap
from emu.debug.calls import Call, start
from emu.debug.changes import Words, changes, equal, live_words
from emu.debug.difference import Difference, Kind, Side, Value, side_of
from emu.debug.observe import Access
from emu.debug.record import Recorder, Step, reads_of
from emu.debug.step_text import bits_of


@dataclass
class _Runner:
    """One engine with its state before and after the instruction that ran last."""

    engine: Engine
    recorder: Recorder
    words: Words
    before: Words
    accesses: list[Access]
    trap: Trap | None = None

    @classmethod
    def of(cls, engine: Engine, recorder: Recorder) -> _Runner:
        words = live_words(engine.state)
        return cls(engine, recorder, words, words.copy(), [])

    def step(self) -> None:
        self.before = self.words.copy()
        try:
            self.accesses = list(self.recorder.skip())
        except Trap as trap:
            self.trap = trap

    @property
    def pc_before(self) -> int:
        return int(_state_of(self.before).PC)

    def told(self, number: int) -> Step:
        """The instruction that ran last as a step."""
        state = _state_of(self.before)
        plan: Plan | None = self.engine.stepper.plan_at(state.PC)
        reads = reads_of(state, plan) if plan is not None else {}
        after = int(self.engine.state.PC)
        found = changes(self.before, self.words)
        return Step(number, int(state.PC), after, plan, reads, found, self.accesses, trap=self.trap)

    def side(self, number: int) -> Side:
        step = self.told(number)
        return side_of(self.engine, step.pc, step, self.trap or "")


def compare(engine_a: Engine, engine_b: Engine, call_a: Call, call_b: Call) -> Difference | None:
    """See :func:`emu.debug.lockstep.first_difference`."""
    start(engine_a, call_a)
    start(engine_b, call_b)
    with Recorder(engine_a) as left, Recorder(engine_b) as right:
        a, b = _Runner.of(engine_a, left), _Runner.of(engine_b, right)
        if not equal(a.words, b.words):
            return _difference(a, b, 0)
        number = 0
        while engine_a.state.budget > 0 and engine_a.state.PC != RETURN_ADDRESS:
            a.step()
            b.step()
            if a.trap is not None or b.trap is not None:
                return None if same_trap(a.trap, b.trap) else _difference(a, b, number)
            if not equal(a.words, b.words) or _stores(a) != _stores(b):
                return _difference(a, b, number)
            number += 1
    return None


def same_trap(a: Trap | None, b: Trap | None) -> bool:
    """Two traps of one kind at one address."""
    return a is not None and b is not None and (a.kind, a.pc, a.address) == (b.kind, b.pc, b.address)


def _stores(runner: _Runner) -> list[tuple[int, int, int]]:
    return [(a.address, a.size, a.value) for a in runner.accesses if a.is_store]


def _difference(a: _Runner, b: _Runner, number: int) -> Difference:
    values = [Value(c.name, c.after, c.before, c.bits) for c in changes(b.words, a.words, frozenset())]
    values += _memory_values(a, b)
    if a.trap is not None or b.trap is not None:
        kind = Kind.TRAP
    else:
        kind = Kind.FLOW if [v.name for v in values] == ["PC"] else Kind.EFFECT
    return Difference(kind, number, a.side(number), b.side(number), tuple(values))


def _memory_values(a: _Runner, b: _Runner) -> list[Value]:
    found = []
    for left, right in zip(_stores(a), _stores(b), strict=False):
        if left != right:
            found.append(Value("store", left[2], right[2], 8 * left[1], left[0]))
            if left[0] != right[0]:
                found.append(Value("address of the store", left[0], right[0], 32))
    if len(_stores(a)) != len(_stores(b)):
        found.append(Value("stores", len(_stores(a)), len(_stores(b)), bits_of("count")))
    return found


def _state_of(words: Words) -> CpuState:
    """A state with these contents; its pointers are not to be followed."""
    state = new_state()
    live_words(state)[:] = words
    return state
