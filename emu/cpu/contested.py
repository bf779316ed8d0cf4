"""Which contested facts an instruction may touch: for runs on translated code, which notices none itself.

To see whether a result depends on a contested fact, every other reading has to be computed beside the chosen
one. The reference stepper does that for each instruction it executes; translated code would pay for it in its
hottest loops. So translated code is looked at instead of watched: an instruction *may* touch a fact when it
touches it in one of a number of states made for the purpose (every end of the counts and lanes on which the
facts turn, and random ones). Whether a run did touch it is told by the same run on the stepper.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache

from emu.cpu import state_tools
from emu.cpu.diagnostics import Diagnostics
from emu.cpu.memory import Memory, MemoryFault
from emu.cpu.plan import Plan
from emu.cpu.readings import choose
from emu.cpu.state import CpuState, new_state
from emu.cpu.step_machine import Raised, StepMachine, StepOperands
from emu.image.location import Location
from emu.isa.decode import Insn
from emu.isa.table import Row

_DATA, _SIZE = 0x3FC90000, 0x2000
_COUNTS = (0, 1, 7, 15, 16, 17, 31, 32, 33, 40, 63)
"""Shift counts at and beside the widths of lanes and products."""
_PAIRS = tuple((a, b) for a in (0x8000, 0x7FFF, 0x8080, 0x7F7F, 1, 0xFFFF) for b in (0x8000, 0x7FFF, 0x7F7F))
"""Two lanes of 16 bits, or four of 8."""
_EACH_LANE = sum(1 << 16 * i for i in range(8))
_STATES = 60
Pairs = tuple[tuple[str, str], ...]


class _Prober:
    """One instruction at a time on states of its own; nothing of a guest is touched."""

    def __init__(self) -> None:
        self.memory = Memory()
        self.memory.add_ram("data", _DATA, _SIZE)
        self.memory.write(_DATA, random.Random(1).randbytes(_SIZE))
        self.diagnostics = Diagnostics()
        self.states = list(_states())
        self.state = new_state()
        self.machine = StepMachine(self.state, self.memory, self.diagnostics)
        self.operands = StepOperands(self.machine)

    def facts(self, plan: Plan) -> frozenset[str]:
        """Names of the facts that the instruction touches in any of the states."""
        self.diagnostics.clear()
        self.machine.plan[:] = [plan]
        for number, start in enumerate(self.states if plan.effect is not None else ()):
            state_tools.restore(self.state, start)
            self._set_vectors(plan, number)
            self._set_numbers(plan)
            self._execute(plan)
        return frozenset(self.diagnostics.contested)

    def _set_vectors(self, plan: Plan, number: int) -> None:
        """Vector operands in turn from a pair of lanes: ends of the same sign, and of different ones."""
        pair = _PAIRS[number % len(_PAIRS)]
        indices = [index for file, index, _ in plan.files.values() if file == "qr"]
        for place, index in enumerate(dict.fromkeys(indices) if number % 4 else ()):
            self.state.set_q(index, pair[place % 2] * _EACH_LANE)

    def _set_numbers(self, plan: Plan) -> None:
        """Address registers that are no pointers: counts, and factors with bits beside the lane's."""
        for name, (file, index, _) in plan.files.items():
            if file == "ar" and not _is_pointer(plan.insn.row, name):
                count = int(self.state.SAR)
                self.state.set_a(index, (count * 0x9E3779B9) & 0xFFFFFFFF if name == "ax" else count)

    def _execute(self, plan: Plan) -> None:
        assert plan.effect is not None
        try:
            plan.effect(self.machine, self.operands)
        except (MemoryFault, Raised):
            pass  # what it touched before counts
        finally:
            self.machine.writes.clear()
            self.machine.target.clear()


def _is_pointer(row: Row, name: str) -> bool:
    """The operand is the address of the row's memory access, by the tables' own naming."""
    return name == "as" and row.group == "pie" and any(w in row.mnemonic for w in ("ld", "st"))


def _states() -> Iterator[CpuState]:
    """States in which the readings of a fact differ, if they ever do."""
    rng = random.Random(2)
    for number in range(_STATES):
        state = new_state()
        state_tools.reset(state)
        state_tools.dirty(state, number + 1)
        state.LCOUNT, state.SAR = 0, _COUNTS[number] if number < len(_COUNTS) else rng.randrange(64)
        state.FFT_BIT_WIDTH = number % 16
        state.CPENABLE = (0xFF, 0xFE, 0xF7)[number % 3]
        for i in range(16):
            state.set_a(i, _DATA + 1024 + rng.randrange(4096))
        if number % 4 < 2:
            _accumulators_at_their_ends(state, is_narrow=number % 8 < 4)
        yield state


def _accumulators_at_their_ends(state: CpuState, is_narrow: bool) -> None:
    """ACCX and every lane of QACC (20 or 40 bits) at the smallest signed value."""
    lane = 20 if is_narrow else 40
    state.ACCX = 1 << 39
    for name in ("QACC_L", "QACC_H"):
        state.set(name, sum(1 << lane * i + lane - 1 for i in range(160 // lane)))


@cache
def _prober() -> _Prober:
    return _Prober()


def facts_of(insn: Insn, readings: Mapping[str, str] | None = None) -> frozenset[str]:
    """Contested facts (emu.cpu.readings) that executing ``insn`` may touch under ``readings``."""
    chosen = readings or choose()
    vectors = [n for o in insn.row.operands if o.kind.cls in ("qr", "fr") for n in [insn.operands[o.name]]]
    same = tuple(vectors.index(n) for n in vectors)
    values = tuple(insn.operands[o.name] for o in insn.row.operands if not o.kind.is_register)
    return _facts(insn.row.key, values, same, tuple(sorted(chosen.items())), _Shown(insn))


class _Shown:
    """An instruction that does not count in a cache's key: the other arguments say what matters of it."""

    def __init__(self, insn: Insn) -> None:
        self.insn = insn

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Shown)

    def __hash__(self) -> int:
        return 0


@lru_cache(maxsize=8192)
def _facts(
    key: str,
    values: tuple[int, ...],
    same: tuple[int, ...],
    readings: tuple[tuple[str, str], ...],
    shown: _Shown,
) -> frozenset[str]:
    prober = _prober()
    prober.machine.readings = dict(readings)
    return prober.facts(Plan(shown.insn, b"", dict(readings)["float_pair_coprocessor"]))


def may_touch(instructions: Iterable[Insn], readings: Mapping[str, str]) -> dict[str, list[int]]:
    """Fact to the addresses of those of the instructions that may touch it, both in order."""
    found: dict[str, set[int]] = {}
    for insn in instructions:
        if insn.row.group == "pie" or insn.mnemonic.startswith(("rur.", "rsr.")):
            for name in facts_of(insn, readings):
                found.setdefault(name, set()).add(insn.pc)
    return {name: sorted(places) for name, places in sorted(found.items())}


@dataclass(frozen=True)
class Use:
    """A contested fact on which the results of a run depend (``is_certain``), or may depend.

    ``places``: the instructions, by address.
    """

    name: str
    places: tuple[Location, ...]
    is_certain: bool

    def __str__(self) -> str:
        many = f" and {len(self.places) - 1:,} more places" if len(self.places) > 1 else ""
        verb = "depends" if self.is_certain else "may depend (translated code; the stepper tells)"
        return f"{verb} on contested fact {self.name} (docs/contested.md), at {self.places[0]}{many}"


def uses(
    noticed: Mapping[str, Iterable[int]],
    translated: Iterable[Insn],
    readings: Mapping[str, str],
    locate: Callable[[int], Location],
) -> tuple[Use, ...]:
    """What the stepper noticed, then what translated instructions may touch, each by name and address."""
    certain = {name: sorted(places) for name, places in sorted(noticed.items())}
    found = [Use(name, tuple(map(locate, places)), True) for name, places in certain.items()]
    for name, places in may_touch(translated, readings).items():
        others = [place for place in places if place not in certain.get(name, ())]
        if others:
            found.append(Use(name, tuple(map(locate, others)), False))
    return tuple(found)
