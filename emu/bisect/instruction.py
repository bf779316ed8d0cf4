"""The first instruction that does something else than in a good image.

Both machines execute the same stretch of a run. While they execute the same instructions, every effect is
compared. Where the code differs, the two streams are not comparable any more, but what they read and write
is: the first access of the bad one (outside of its stack) that the good one never makes is told, with the
place where the code parted; then the instruction that wrote the first wrong element.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from emu.bisect.machines import Machine, Output
from emu.cpu.engine import Engine
from emu.cpu.traps import Trap
from emu.debug.changes import Change
from emu.debug.correspondence import Correspondence, place_of
from emu.debug.difference import Side, Value, side_of
from emu.debug.observe import Access
from emu.debug.record import Recorder, Step
from emu.debug.step_text import bits_of
from emu.image import Image, Location
from emu.verify.compare import bits_of as bits_of_array

LIMIT = 300_000
"""Instructions of a stretch at most; the reference stepper runs them one by one."""
_SAMPLE = 16
"""Bytes by which two constants are told to be the same one."""


@dataclass(frozen=True)
class FirstWrong:
    """``how``: "effect" (the same instruction, another result), "code" (another instruction), "load", "store"
    (an access that the good code never makes), "missing" (one that only the good code makes), "trap", or
    "last write" (the instruction that wrote the first wrong element).

    ``parted``: where the code itself differs, (good, bad), when it does. ``bad``, ``good``: the two sides.
    """

    how: str
    number: int
    bad: Side
    good: Side | None = None
    values: tuple[Value, ...] = ()
    notes: tuple[str, ...] = ()
    parted: tuple[Location, Location] | None = None


class _Match(Correspondence):
    """Pointers to equal constants without a name (strings) count as equal too."""

    def __init__(self, a: Engine, b: Engine) -> None:
        super().__init__(a, b)
        self._images = a.image, b.image

    def same(self, a: int, b: int) -> bool:
        """See Correspondence."""
        if super().same(a, b):
            return True
        return self._same_constant(a, b)

    def same_place(self, a: int, b: int) -> bool:
        """Two addresses of accesses: one number may be the end of an object here and another object there."""
        left, right = place_of(self._a, a), place_of(self._b, b)
        return left == right if left is not None and right is not None else a == b

    def _same_constant(self, a: int, b: int) -> bool:
        left, right = (_constant(image, x) for image, x in zip(self._images, (a, b), strict=True))
        return left is not None and left == right


def _constant(image: Image, address: int) -> bytes | None:
    """The first bytes of data without a name, as loaded; None for anything else."""
    segment = image.segment_at(address)
    if segment is None or image.is_code(address):
        return None
    symbol = image.symbols.at(address)
    if symbol is not None and symbol.kind == "object":
        return None
    at = address - segment.address
    return bytes(segment.data[at : at + _SAMPLE])


@dataclass
class _Run:
    """One machine while it is stepped. ``writers``: for each byte outside of the stack the pc that stored it
    last."""

    machine: Machine
    recorder: Recorder
    number: int = 0
    writers: dict[int, int] = field(default_factory=dict)

    @property
    def engine(self) -> Engine:
        return self.machine.engine

    @property
    def is_over(self) -> bool:
        return self.machine.is_over() or self.number >= LIMIT

    def step(self) -> Step:
        step = self.recorder.step()
        self.note(step.pc, step.accesses)
        return step

    def note(self, pc: int, accesses: list[Access]) -> None:
        self.number += 1
        for access in accesses:
            if access.is_store:
                for byte in range(access.address, access.end):
                    self.writers[byte] = pc

    def outside(self, accesses: list[Access]) -> list[tuple[Hashable, Access]]:
        """Accesses outside of the stack and of literals, as something comparable between images."""
        stack = self.engine.stack
        found: list[tuple[Hashable, Access]] = []
        for access in accesses:
            if not stack.start <= access.address < stack.end and not self._is_literal(access):
                value = self._meaning(access.value)
                found.append(((access.is_store, self._place(access), access.size, value), access))
        return found

    def _is_literal(self, access: Access) -> bool:
        return not access.is_store and self.engine.image.is_code(access.address)

    def _meaning(self, value: int) -> Hashable:
        """A value, or what it points to."""
        return place_of(self.engine, value) or _constant(self.engine.image, value) or value

    def _place(self, access: Access) -> Hashable:
        """Where it is; constants without a name may lie anywhere."""
        segment = self.engine.image.segment_at(access.address)
        if not access.is_store and segment is not None and not self._is_named_data(access.address):
            return "constant"
        return place_of(self.engine, access.address) or access.address

    def _is_named_data(self, address: int) -> bool:
        symbol = self.engine.image.symbols.at(address)
        return symbol is not None and symbol.kind == "object"


def first_wrong(good: Machine, bad: Machine) -> FirstWrong | None:
    """Run both stretches; None when nothing differs, or when a stretch is longer than LIMIT."""
    with Recorder(good.engine) as left, Recorder(bad.engine) as right:
        a, b = _Run(good, left), _Run(bad, right)
        match = _Match(good.engine, bad.engine)
        found, parted = _together(a, b, match)
        if found is not None:
            return found
        return _apart(a, b, parted)


def _together(a: _Run, b: _Run, match: _Match) -> tuple[FirstWrong | None, tuple[Location, Location] | None]:
    """While both execute the same instructions: a difference, or where the code parts."""
    while not a.is_over and not b.is_over:
        plans = [r.engine.stepper.plan_at(r.engine.state.PC) for r in (a, b)]
        if plans[0] is None or plans[1] is None or not match.same_stream(plans[0].insn, plans[1].insn):
            return None, (_here(a), _here(b))
        left, right = a.step(), b.step()
        if left.trap is not None or right.trap is not None:
            if left.trap is not None and right.trap is not None:
                return None, None
            return FirstWrong("trap", b.number, _side(b, right), _side(a, left)), None
        values = _effects(a, b, left, right, match)
        if values:
            return FirstWrong("effect", b.number, _side(b, right), _side(a, left), values), None
    return None, None


def _here(run: _Run) -> Location:
    return run.engine.locate(int(run.engine.state.PC))


def _side(run: _Run, step: Step) -> Side:
    return side_of(run.engine, step.pc, step, step.trap or "")


def _effects(a: _Run, b: _Run, left: Step, right: Step, match: _Match) -> tuple[Value, ...]:
    """Registers and stores of one instruction that are not the same in both."""
    found = []
    names = {c.name for c in (*left.changes, *right.changes)}
    for name in sorted(names):
        x, y = (_after(run, name, step.changes) for run, step in ((a, left), (b, right)))
        if not match.same(x, y):
            found.append(Value(name, x, y, bits_of(name)))
    for s, t in zip(left.stores, right.stores, strict=False):
        if not match.same_place(s.address, t.address):
            found.append(Value("address of the store", s.address, t.address, 32))
        elif not match.same(s.value, t.value):
            found.append(Value("store", s.value, t.value, 8 * s.size, s.address))
    return tuple(found)


def _after(run: _Run, name: str, changes: list[Change]) -> int:
    from emu.cpu import state_tools

    known = next((c.after for c in changes if c.name == name), None)
    if known is not None:
        return known
    if name[0] == "a" and name[1:].isdigit():
        return run.engine.state.get_a(int(name[1:]))
    return int(state_tools.values(run.engine.state)[name])


def _apart(a: _Run, b: _Run, parted: tuple[Location, Location] | None) -> FirstWrong | None:
    """After the code parted: the first access of the bad run that the good one never makes."""
    if parted is None:
        return None
    made, trap = _all_accesses(a)
    if trap is not None or a.number >= LIMIT:
        return None
    before = Counter(made)
    while not b.is_over:
        step = b.step()
        if step.trap is not None:
            return FirstWrong("trap", b.number, _side(b, step), None, parted=parted)
        for key, access in b.outside(step.accesses):
            if before[key] > 0:
                before[key] -= 1
                continue
            how = "store" if access.is_store else "load"
            return FirstWrong(how, b.number, _side(b, step), None, (_value(access),), (), parted)
    if b.number >= LIMIT:
        return None
    return _last_write(a, b, parted) or _never_made(a, before, b, parted) or _other_code(a, b, parted)


def _other_code(a: _Run, b: _Run, parted: tuple[Location, Location]) -> FirstWrong:
    """Nothing outside of the stack differs: what is wrong is in registers, from where the code differs on."""
    sides = [side_of(r.engine, place.address) for r, place in zip((a, b), parted, strict=True)]
    return FirstWrong("code", b.number, sides[1], sides[0], parted=parted)


def _all_accesses(run: _Run) -> tuple[list[Hashable], Trap | None]:
    made: list[Hashable] = []
    while not run.is_over:
        pc = int(run.engine.state.PC)
        try:
            accesses = run.recorder.skip()
        except Trap as trap:
            return made, trap
        run.note(pc, accesses)
        made += [key for key, _ in run.outside(accesses)]
    return made, None


def _value(access: Access) -> Value:
    name = "store" if access.is_store else "load"
    return Value(f"{name} of {access.size} bytes", 0, access.value, 8 * access.size, access.address)


def _last_write(a: _Run, b: _Run, parted: tuple[Location, Location]) -> FirstWrong | None:
    """The instruction that wrote the first wrong element of an output."""
    for x, y in zip(a.machine.outputs, b.machine.outputs, strict=True):
        place = wrong_element(x, a.engine, y, b.engine)
        if place is not None:
            size = np.dtype(y.dtype).itemsize
            pc = b.writers.get(y.address + place * size, int(b.engine.state.PC))
            side = side_of(b.engine, pc)
            return FirstWrong(
                "last write", b.number, side, None, (), (f"it wrote {y.name}[{place}]",), parted
            )
    return None


def wrong_element(x: Output, a: Engine, y: Output, b: Engine) -> int | None:
    """The first element of an output that counts and differs."""
    unequal = (bits_of_array(x.read(a)) != bits_of_array(y.read(b))) & x.counts
    return int(np.flatnonzero(unequal)[0]) if unequal.any() else None


def _never_made(
    a: _Run, left: Counter[Hashable], b: _Run, parted: tuple[Location, Location]
) -> FirstWrong | None:
    missing: list[Any] = [key for key, count in left.items() if count > 0]
    if not missing:
        return None
    is_store, place, size, _ = missing[0]
    kind = "stores to" if is_store else "loads from"
    where = f"{place:#010x}" if isinstance(place, int) else str(place)
    note = f"the good image {kind} {where} ({size} bytes); the bad one never does"
    return FirstWrong("missing", b.number, side_of(b.engine, parted[1].address), None, (), (note,), parted)
