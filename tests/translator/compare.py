"""Runs one program on both tiers and compares everything that is left."""

import random

from emu.cpu.state import ExitReason, address_of
from emu.cpu.translator.dispatch import Translator
from emu.cpu.traps import Trap
from tests.translator import programs
from tests.translator.rig import (
    CODE,
    STOP,
    Side,
    difference,
    options,
    random_bytes,
    random_permissions,
    random_state,
)

BUDGET = 30_000


class Pair:
    """The two tiers, reused for many programs. Translated code gets full effort at once."""

    def __init__(self, changes=None):
        self.options = options(**(changes or {}))
        self.sides = Side(self.options), Side(self.options)
        self.translator = Translator(self.sides[1])
        self.translator.patience = 0
        self.outcomes = {}

    def check(self, seed, code, labels, is_function, words=(), data=None, **states):
        """Raises AssertionError with what differs.

        ``words``: what ``l32r`` reads, ``data``: contents of the data region, ``states``: of the processor;
        all else is random.
        """
        rng = random.Random(f"state {seed}")
        start = random_state(rng, labels["main"], 0, 0)
        self._prepare(start, is_function, rng)
        for name, value in states.items():
            setattr(start, name, value)
        table, permissions = programs.literals(rng), random_permissions(rng)
        table = b"".join(word.to_bytes(4, "little") for word in words) + table[4 * len(words) :]
        data = random_bytes(rng) if data is None else data
        for side in self.sides:
            side.memory.write(CODE, table)
            side.memory.write(programs.TEXT, code)
            side.load(address_of(start), data, permissions)
        tiers = self.sides[0].stepper, self.translator
        ends = [_run(side, tier) for side, tier in zip(self.sides, tiers, strict=True)]
        outcome = ends[0] if isinstance(ends[0], str) else ends[0][0].name
        self.outcomes[outcome] = self.outcomes.get(outcome, 0) + 1
        if ends[0] != ends[1] or self.sides[0].image() != self.sides[1].image():
            raise AssertionError(self._describe(seed, ends))

    @staticmethod
    def _prepare(start, is_function, rng):
        start.LCOUNT = 0
        start.budget = BUDGET
        start.PSCALLINC = 2 if is_function else start.PSCALLINC
        base = start.WindowBase
        start.WindowStart = 1 << base
        start.set_a(1, programs.STACK)
        start.set_a(0, STOP)
        if is_function:
            start.set_a(8, 2 << 30 | STOP & 0x3FFFFFFF)

    def _describe(self, seed, ends):
        a, b = self.sides
        lines = [f"program {seed}: ends {ends}", f"stepper, translator: {difference(a.state, b.state)}"]
        lines.append(f"instructions {a.state.instructions} {b.state.instructions}")
        memory = [side.image()[2] for side in self.sides]
        lines.append(
            f"memory differs at {[i for i in range(len(memory[0])) if memory[0][i] != memory[1][i]][:20]}"
        )
        return "\n".join(lines)


def _run(side, tier):
    try:
        reason = tier.run()
    except Trap as trap:
        return trap.kind, trap.pc, trap.address
    return ExitReason(reason).name


def run_straight(pair, seeds):
    """Straight programs of 50 instructions."""
    for seed in seeds:
        pair.check(f"straight {seed}", *programs.straight(seed), False)


def run_structured(pair, seeds):
    """Programs with loops, calls and windows."""
    for seed in seeds:
        pair.check(f"structured {seed}", *programs.structured(seed), True)


if __name__ == "__main__":
    import sys
    import tempfile
    from pathlib import Path

    from emu.cpu.translator.library import Library

    first, last = int(sys.argv[2]), int(sys.argv[3])
    pair = Pair({"bounds": True, "check_init": True} if sys.argv[4:] == ["bounds"] else {})
    pair.translator._library = Library(Path(tempfile.mkdtemp()))
    {"straight": run_straight, "structured": run_structured}[sys.argv[1]](pair, range(first, last))
    print(pair.outcomes, "units made", pair.translator._library.made)
