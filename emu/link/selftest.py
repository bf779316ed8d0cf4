"""The self-test: which reading of each contested fact does this board follow, and does the rest agree?

Every probe runs on the board and, from the same stub of the same image, on the reference stepper under every
combination of the readings that may matter. A reading is settled when it alone fits all inputs.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from emu.cpu.engine import Engine
from emu.cpu.options import EngineOptions
from emu.cpu.readings import READINGS
from emu.cpu.traps import Trap, TrapKind
from emu.image import Image
from emu.link.board import Board
from emu.link.client import Client
from emu.link.errors import BoardFault, LinkFault
from emu.link.probes import (
    FAR,
    MEMORY_BYTES,
    MEMORY_OFFSET,
    OUT_BYTES,
    PROBES,
    SIGNATURE,
    STATE_BYTES,
    SYMBOL,
    Probe,
    State,
    states,
)
from emu.link.requests import Place, Word, write_requests
from emu.link.signatures import fingerprint

Outcome = bytes | str
"""The state afterwards, or "exception N"."""
Predicted = list[tuple[dict[str, str], Outcome]]
"""Outcomes under combinations of readings."""
_BUFFER = 0
_SCRATCH = np.random.Generator(np.random.Philox(key=[7, 7])).bytes(MEMORY_BYTES)
_OUT: Final = bytes(MEMORY_OFFSET) + _SCRATCH


class EngineBoard:
    """Runs probes of an image on the reference stepper."""

    def __init__(self, image: Image, readings: Mapping[str, str]) -> None:
        options = EngineOptions(tier="stepper", readings=dict(readings), watch=False)
        self._engine = Engine(image, options)
        self._in = -(-self._engine.arena.start // 64) * 64
        self._out = self._in + STATE_BYTES

    def run(self, number: int, state: State) -> Outcome:
        """The outcome of one probe."""
        memory = self._engine.memory
        memory.write(self._in, state.pack() + _OUT)
        memory.write(self._out + MEMORY_OFFSET + 64 + FAR[0], FAR[1])
        try:
            self._engine.call(SYMBOL, [number, self._in, self._out])
        except Trap as trap:
            self._engine.reset()
            return _exception(trap)
        return bytes(memory.read(self._out, OUT_BYTES))


def _exception(trap: Trap) -> Outcome:
    if trap.kind is TrapKind.ILLEGAL:
        return "exception 0"
    if trap.kind is TrapKind.COPROCESSOR and (found := re.search(r"\d", trap.message)):
        return f"exception {32 + int(found[0])}"
    raise trap


class RealBoard:
    """Runs probes on a board; one that ends with an exception costs a start of the agent."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._ready: Client | None = None

    def run(self, number: int, state: State) -> Outcome:
        """The outcome of one probe. Raises LinkFault; BoardFault for anything but an exception."""
        try:
            return self._board.attempt(lambda client: self._call(client, number, state))
        except BoardFault as fault:
            start = self._board.session.start
            if fault.kind != "exception" or start is None:
                raise
            return f"exception {start.cause}"

    def _call(self, client: Client, number: int, state: State) -> bytes:
        function = client.kernels.get(SYMBOL)
        if function is None or function.fingerprint != fingerprint(SYMBOL, SIGNATURE):
            raise LinkFault(
                "the agent on the board has no self-test (or another one): load the bundled agent"
            )
        payload = client.hello.payload
        if client is not self._ready:
            size = max((r.size & ~15, i) for i, r in enumerate(client.regions) if r.writable)
            client.buffer(_BUFFER, size[1], 0, size[0])
            far = STATE_BYTES + MEMORY_OFFSET + 64 + FAR[0]
            if far + 4 <= size[0]:
                client.ask(write_requests(_BUFFER, far, FAR[1], payload))
            self._ready = client
        out = Place(_BUFFER, STATE_BYTES, OUT_BYTES)
        called = client.call(
            function,
            [Word(number), Place(_BUFFER, 0), Place(_BUFFER, STATE_BYTES)],
            [out],
            before=write_requests(_BUFFER, 0, state.pack() + _OUT, payload),
        )
        return called.data[0] if called.data else client.read(out)


@dataclass
class Fact:
    """``consistent``: readings that fit every input; ``telling``: inputs on which readings differ."""

    consistent: set[str]
    telling: int = 0
    first_strange: str = ""

    @property
    def settled(self) -> str | None:
        """The one reading that fits, if inputs told the readings apart."""
        return next(iter(self.consistent)) if self.telling and len(self.consistent) == 1 else None


@dataclass
class Check:
    """Inputs of a group that have nothing contested, and those on which the board differs."""

    inputs: int = 0
    differ: int = 0
    first: str = ""


@dataclass
class Report:
    """What a self-test found."""

    facts: dict[str, Fact] = field(default_factory=dict)
    checks: dict[str, Check] = field(default_factory=dict)

    @property
    def readings(self) -> dict[str, str]:
        """Settled readings by fact."""
        return {name: fact.settled for name, fact in self.facts.items() if fact.settled is not None}

    @property
    def clean(self) -> bool:
        """Every fact fits a known reading, and nothing else differs."""
        return all(f.consistent for f in self.facts.values()) and not any(
            c.differ for c in self.checks.values()
        )

    def as_json(self) -> dict[str, Any]:
        """For the result file."""
        facts = {
            name: {
                "settled": fact.settled,
                "consistent": sorted(fact.consistent),
                "telling_inputs": fact.telling,
                "not_explained": fact.first_strange,
            }
            for name, fact in self.facts.items()
        }
        checks = {name: check.__dict__ for name, check in self.checks.items()}
        return {"readings": self.readings, "facts": facts, "checks": checks}


class _Expected:
    """Engines under combinations of readings, made when first needed."""

    def __init__(self, image: Image) -> None:
        self._image = image
        self._engines: dict[tuple[tuple[str, str], ...], EngineBoard] = {}

    def outcomes(self, number: int, probe: Probe, state: State) -> Iterator[tuple[dict[str, str], Outcome]]:
        """(readings, outcome) for every combination of the probe's facts."""
        choices = [READINGS[fact].choices for fact in probe.facts]
        for values in itertools.product(*choices):
            readings = dict(zip(probe.facts, values, strict=True))
            yield readings, self._engine(readings).run(number, state)

    def _engine(self, readings: dict[str, str]) -> EngineBoard:
        key = tuple(sorted((n, v) for n, v in readings.items() if v != READINGS[n].chosen))
        if key not in self._engines:
            self._engines[key] = EngineBoard(self._image, dict(key))
        return self._engines[key]


def selftest(
    run: Callable[[int, State], Outcome],
    image: Image,
    progress: Callable[[int], object] = lambda done: None,
    only: Collection[str] = (),
) -> Report:
    """Run all probes by ``run`` and judge them. ``image``: the board's agent; ``only``: these facts."""
    expected, report, done = _Expected(image), Report(), 0
    for number, probe in enumerate(PROBES):
        if only and not set(only) & set(probe.facts):
            continue
        for state in states(probe, number):
            seen = run(number, state)
            predicted = list(expected.outcomes(number, probe, state))
            if probe.facts:
                _judge(report, probe, predicted, seen)
            else:
                _compare(report, probe, predicted[0][1], seen)
            done += 1
            progress(done)
    return report


def _judge(
    report: Report, probe: Probe, predicted: list[tuple[dict[str, str], Outcome]], seen: Outcome
) -> None:
    fitting = [readings for readings, outcome in predicted if outcome == seen]
    for fact in probe.facts:
        entry = report.facts.setdefault(fact, Fact(set(READINGS[fact].choices)))
        if _tells(fact, predicted):
            entry.telling += 1
            entry.consistent &= {readings[fact] for readings in fitting}
        if not fitting:
            entry.consistent.clear()
            entry.first_strange = entry.first_strange or f"{probe.name}: {_shown(seen)}"


def _tells(fact: str, predicted: Predicted) -> bool:
    """The outcome depends on this fact when all others are as chosen."""
    plain = {
        outcome
        for readings, outcome in predicted
        if all(value == READINGS[name].chosen for name, value in readings.items() if name != fact)
    }
    return len(plain) > 1


def _compare(report: Report, probe: Probe, expected: Outcome, seen: Outcome) -> None:
    check = report.checks.setdefault(probe.group, Check())
    check.inputs += 1
    if seen != expected:
        check.differ += 1
        check.first = check.first or f"{probe.name}: expected {_shown(expected)}, got {_shown(seen)}"


def _shown(outcome: Outcome) -> str:
    """Enough of an outcome to find out what it means."""
    if isinstance(outcome, str):
        return outcome
    q0, words, floats = outcome[:16].hex(), outcome[192:236].hex(), outcome[240:248].hex()
    return f"q0 {q0}, words {words}, f0 f1 {floats}"
