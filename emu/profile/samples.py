"""Which instructions a run consists of: the program counter at moments some instructions apart.

Moments are counted in executed instructions and drawn from a seed, so that they keep step with no loop, and a
run gives the same samples every time.
"""

from __future__ import annotations

import random
from collections import Counter

from emu.cpu.engine import Engine
from emu.profile.sites import Code

FLOWS = ("branch", "loop")


class Sampler:
    """Takes a sample every ``every`` instructions on average while it is installed.

    ``found``: samples by address; ``taken``: of the branches among them, how often the branch was taken.
    """

    def __init__(self, engine: Engine, code: Code, every: int) -> None:
        """Raises ValueError for an interval below 1."""
        if every < 1:
            raise ValueError(f"a sample every {every} instructions; it needs at least 1")
        self.found: Counter[int] = Counter()
        self.taken: Counter[int] = Counter()
        self._engine, self._code, self._every = engine, code, every
        self._active = False
        self._branch = 0
        self._rng = random.Random(every)

    def __enter__(self) -> Sampler:
        self._active = True
        self._rng.seed(self._every)
        self._arm(self._next())
        return self

    def __exit__(self, *error: object) -> None:
        self._active = False

    def _next(self) -> int:
        """Instructions to the next sample."""
        return self._rng.randint(max(self._every // 2, 2), max(self._every + self._every // 2, 3))

    def _arm(self, instructions: int) -> None:
        clock = self._engine.interrupts
        self._engine.call_at(clock.cycles + instructions, self._look if instructions > 1 else self._after)

    def _look(self) -> None:
        if not self._active:
            return
        pc = self._engine.state.PC
        self.found[pc] += 1
        insn = self._code.instructions.get(pc)
        if insn is not None and insn.row.flow in FLOWS:
            self._branch = pc
            self._arm(1)
        else:
            self._arm(self._next())

    def _after(self) -> None:
        if not self._active:
            return
        pc = self._engine.state.PC
        if pc != self._code.instructions[self._branch].next_pc:
            self.taken[self._branch] += 1
        self._arm(self._next())
