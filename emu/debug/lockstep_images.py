"""The same call in two images, which may be different builds.

As long as both execute the same instructions (registers, immediates and named targets alike; addresses may
differ), every register that changes and every store is compared after each instruction; pointers to the same
symbol and places at the same depth of the stack count as equal.

When the streams part, the code differs, and what a function does inside is its own business. From then on
only what it leaves is compared when both are done: the bytes of the call's buffers, the named data objects
that both images have, and the words of the result that the call declares. Of the elements that differ, the
first one is that which engine a finished first; the instructions that wrote it last are named on both sides.
Order, width and number of stores do not matter.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from emu.cpu.engine import RETURN_ADDRESS, Engine
from emu.cpu.traps import Trap
from emu.debug.calls import Call, Place, Started, start
from emu.debug.correspondence import Correspondence
from emu.debug.difference import Difference, Kind, Side, Value, side_of
from emu.debug.observe import Access
from emu.debug.record import Recorder, Step
from emu.debug.snapshot import Snapshot
from emu.debug.step_text import bits_of
from emu.image import Image, Symbol

NEVER = 1 << 62


@dataclass
class _Runner:
    """One image's run. ``writers``: for each byte outside of the stack the last store: (number, pc)."""

    engine: Engine
    call: Call
    recorder: Recorder
    began: Snapshot
    started: Started
    writers: dict[int, tuple[int, int]] = field(default_factory=dict)
    number: int = 0
    trap: Trap | None = None

    @property
    def is_over(self) -> bool:
        state = self.engine.state
        return self.trap is not None or state.budget <= 0 or state.PC == RETURN_ADDRESS

    def step(self) -> Step:
        step = self.recorder.step()
        self.trap = step.trap
        self._note(step.pc, step.accesses)
        return step

    def finish(self) -> None:
        """Run to the end, noting stores only."""
        while not self.is_over:
            pc = int(self.engine.state.PC)
            try:
                self._note(pc, self.recorder.skip())
            except Trap as trap:
                self.trap = trap

    def _note(self, pc: int, accesses: list[Access]) -> None:
        stack = self.engine.stack
        for access in accesses:
            if access.is_store and not stack.start <= access.address < stack.end:
                for byte in range(access.address, access.end):
                    self.writers[byte] = (self.number, pc)
        self.number += 1

    def side_at(self, number: int) -> Side:
        """This side at an instruction that it executed: the run is repeated up to it."""
        self.began.restore(self.engine)
        self.recorder = Recorder(self.engine)
        with self.recorder:
            for _ in range(number):
                self.recorder.skip()
            step = self.recorder.step()
        return side_of(self.engine, step.pc, step, step.trap or "")

    def side_here(self, step: Step | None = None) -> Side:
        pc = step.pc if step is not None else int(self.engine.state.PC)
        return side_of(self.engine, pc, step, self.trap or "")


def compare(engine_a: Engine, engine_b: Engine, call_a: Call, call_b: Call) -> Difference | None:
    """See :func:`emu.debug.lockstep.first_difference`."""
    started = start(engine_a, call_a), start(engine_b, call_b)
    began = Snapshot(engine_a), Snapshot(engine_b)
    with Recorder(engine_a) as left, Recorder(engine_b) as right:
        a = _Runner(engine_a, call_a, left, began[0], started[0])
        b = _Runner(engine_b, call_b, right, began[1], started[1])
        match = Correspondence(engine_a, engine_b)
        found, note = _aligned(a, b, match)
        if found is not None:
            return found
        if not note and a.trap is None and b.trap is None:
            return None
        a.finish()
        b.finish()
    return _outcome(a, b, match, note)


def _aligned(a: _Runner, b: _Runner, match: Correspondence) -> tuple[Difference | None, str]:
    """Step both while they execute the same stream: a difference, or where the streams part."""
    while not a.is_over and not b.is_over:
        stepper_a, stepper_b = a.engine.stepper, b.engine.stepper
        plans = stepper_a.plan_at(a.engine.state.PC), stepper_b.plan_at(b.engine.state.PC)
        if plans[0] is None or plans[1] is None or not match.same_stream(plans[0].insn, plans[1].insn):
            return None, _parting(a, b)
        number, left, right = a.number, a.step(), b.step()
        if a.trap is not None or b.trap is not None:
            return None, ""
        values = _effects(a, b, left, right, match)
        if values:
            return Difference(Kind.EFFECT, number, a.side_here(left), b.side_here(right), values), ""
    return None, ""


def _parting(a: _Runner, b: _Runner) -> str:
    places = (str(r.engine.locate(int(r.engine.state.PC))) for r in (a, b))
    return f"the code differs from instruction {a.number:,} on: {' and '.join(places)}; buffers are compared"


def _effects(a: _Runner, b: _Runner, left: Step, right: Step, match: Correspondence) -> tuple[Value, ...]:
    """What the instruction did in one image and not in the other."""
    found = []
    after = [{c.name: c.after for c in step.changes} for step in (left, right)]
    for name in {**after[0], **after[1]}:
        x, y = (_value(r.engine, name, known) for r, known in zip((a, b), after, strict=True))
        if not match.same(x, y):
            found.append(Value(name, x, y, bits_of(name)))
    for s, t in zip(left.stores, right.stores, strict=False):
        if not match.same(s.address, t.address):
            found.append(Value("address of the store", s.address, t.address, 32))
        if s.size != t.size or not match.same(s.value, t.value):
            found.append(Value("store", s.value, t.value, 8 * s.size, s.address))
    if len(left.stores) != len(right.stores):
        found.append(Value("stores", len(left.stores), len(right.stores), 32))
    return tuple(found)


def _value(engine: Engine, name: str, known: dict[str, int]) -> int:
    from emu.cpu import state_tools

    if name in known:
        return known[name]
    if name[0] == "a" and name[1:].isdigit():
        return engine.state.get_a(int(name[1:]))
    return state_tools.values(engine.state)[name]


def _outcome(a: _Runner, b: _Runner, match: Correspondence, note: str) -> Difference | None:
    """Compare what two finished runs left."""
    notes = (note,) if note else ()
    if a.trap is not None or b.trap is not None:
        if a.trap is not None and b.trap is not None and _alike(a, b):
            return None
        return Difference(Kind.TRAP, a.number - 1, a.side_here(), b.side_here(), (), notes)
    spans = [*_buffer_spans(a, b), *_object_spans(a.engine.image, b.engine.image)]
    found = [d for span in spans for d in _span_differences(a, b, span, match)]
    if found:
        return _bytes_difference(a, b, found, notes)
    return _result(a, b, match, notes)


def _alike(a: _Runner, b: _Runner) -> bool:
    assert a.trap is not None
    assert b.trap is not None
    return a.trap.kind is b.trap.kind and a.trap.where.symbol == b.trap.where.symbol


@dataclass(frozen=True)
class _Span:
    """A range of bytes that both images have; ``unit``: bytes of an element."""

    name: str
    address_a: int
    address_b: int
    size: int
    unit: int
    holds_pointers: bool


@dataclass(frozen=True)
class _Element:
    """One element that differs, with the number of the instruction of a that wrote it last."""

    value: Value
    written: int
    address_a: int
    address_b: int


def _buffer_spans(a: _Runner, b: _Runner) -> Iterator[_Span]:
    for x, y in zip(a.started.places, b.started.places, strict=False):
        unit = np.dtype(x.buffer.dtype).itemsize
        yield _Span(x.name, x.address, y.address, min(_length(x), _length(y)), unit, False)


def _length(place: Place) -> int:
    return place.end - place.address


def _object_spans(a: Image, b: Image) -> Iterator[_Span]:
    others = _objects(b)
    for name, x in _objects(a).items():
        y = others.get(name)
        if y is not None and x.size == y.size:
            yield _Span(name, x.address, y.address, x.size, 4 if not x.size % 4 else 1, True)


def _objects(image: Image) -> dict[str, Symbol]:
    """Named data in writable memory whose name is unique."""
    found: dict[str, Symbol] = {}
    repeated: set[str] = set()
    for symbol in image.symbols:
        segment = image.segment_at(symbol.address)
        if symbol.kind == "object" and symbol.size and segment is not None and "w" in segment.perms:
            repeated |= {symbol.name} & found.keys()
            found[symbol.name] = symbol
    return {name: symbol for name, symbol in found.items() if name not in repeated}


def _span_differences(a: _Runner, b: _Runner, span: _Span, match: Correspondence) -> Iterator[_Element]:
    left = a.engine.memory.read(span.address_a, span.size)
    right = b.engine.memory.read(span.address_b, span.size)
    if left == right:
        return
    for at in range(0, span.size, span.unit):
        x, y = (int.from_bytes(data[at : at + span.unit], "little") for data in (left, right))
        if x == y or (span.holds_pointers and match.same(x, y)):
            continue
        address = span.address_a + at
        value = Value(f"{span.name}[{at // span.unit}]", x, y, 8 * span.unit, address)
        written = min(
            (a.writers.get(i, (NEVER, 0))[0] for i in range(address, address + span.unit)), default=NEVER
        )
        yield _Element(value, written, address, span.address_b + at)


def _bytes_difference(a: _Runner, b: _Runner, found: list[_Element], notes: tuple[str, ...]) -> Difference:
    first = min(found, key=lambda element: (element.written, element.address_a))
    values = (first.value, *(e.value for e in found if e is not first))
    unit = first.value.bits // 8
    sides = []
    for letter, runner, address in (("a", a, first.address_a), ("b", b, first.address_b)):
        number = _last_writer(runner, address, unit)
        if number is None:
            notes = (*notes, f"{first.value.name} was never written in {letter}")
            sides.append(side_of(runner.engine, runner.started.entered.address))
        else:
            sides.append(runner.side_at(number))
    number = min(first.written, a.number)
    return Difference(Kind.BYTES, number, sides[0], sides[1], values, notes)


def _last_writer(runner: _Runner, address: int, size: int) -> int | None:
    numbers = [runner.writers[i][0] for i in range(address, address + size) if i in runner.writers]
    return max(numbers, default=None)


def _result(a: _Runner, b: _Runner, match: Correspondence, notes: tuple[str, ...]) -> Difference | None:
    """The words of the result, and what the calling convention demands (a trap when it is broken)."""
    values = []
    for i in range(a.call.returns):
        x, y = (r.engine.state.get_a(10 + i) for r in (a, b))
        if not match.same(x, y):
            values.append(Value(f"result word {i} (a{2 + i} of the function)", x, y, 32))
    if not values:
        return None
    return Difference(Kind.RESULT, a.number, a.side_here(), b.side_here(), tuple(values), notes)
