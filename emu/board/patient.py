"""The translator for a board: native code is made in small steps, so that a board always answers soon.

A loader or a host program gives up after seconds, and code that runs once or twice is stepped faster than
native code is made of it. Units are small at first; those that turn out to be busy are made again, whole,
with full effort, or come from the cache of an earlier run.
"""

from __future__ import annotations

from emu.cpu.engine import Engine
from emu.cpu.state import ExitReason
from emu.cpu.translator import Translator
from emu.cpu.translator.discover import LIMIT, discover
from emu.cpu.translator.leave import REASON
from emu.cpu.translator.library import unit_key
from emu.cpu.translator.native import FULL
from emu.cpu.translator.unit import SYMBOL

LOOKS = 12
"""Times that an address is reached before native code is made for it."""
KNOWN = 200_000
"""Addresses that are counted."""
LONGER = 10
"""Times the translator's own patience before a unit gets full effort, which takes a second."""
LATE = 256
"""Cycles that an alarm may be late."""
FIRST_LIMIT = 48
"""Instructions of a unit at first."""


class PatientTranslator(Translator):
    """As Translator, from the ``LOOKS``th time on that an address is reached."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self.patience *= LONGER
        self._slice = engine.interrupts.slice
        self._reached: dict[int, int] = {}

    def _run_units(self) -> int:
        """Where units stop before the end of a slice, the stepper does the rest, which may be hundreds of
        instructions. A board need not: its turns may be shorter, its alarms a microsecond late.
        """
        left = super()._run_units()
        state = self.state
        if left & REASON != ExitReason.BUDGET or state.budget <= 0:
            return left
        if self._slice.is_last:
            state.budget = 0
        elif self._timers_are_far():
            state.budget += LATE
            left = super()._run_units()
            state.budget -= LATE
            if left & REASON == ExitReason.BUDGET:
                state.budget = min(state.budget, 0)
        return left

    def _timers_are_far(self) -> bool:
        """No timer of the core, which must be met exactly, is near."""
        state = self.state
        after = state.CCOUNT + state.instructions + 1
        compares = (state.CCOMPARE0, state.CCOMPARE1, state.CCOMPARE2)
        return all((compare - after) & 0xFFFFFFFF > state.budget + 4 * LATE for compare in compares)

    def _unit(self, pc: int) -> int | None:
        count = self._reached.get(pc, 0) + 1
        if count <= LOOKS:
            if len(self._reached) > KNOWN:
                self._reached.clear()
            self._reached[pc] = count
            return None
        self.unit_limit = LIMIT if pc in self._busy or self._is_known(pc) else FIRST_LIMIT
        return super()._unit(pc)

    def _is_known(self, pc: int) -> bool:
        """The whole unit has been made with full effort before."""
        mode = self._mode
        assert mode is not None
        code = discover(self._reader, pc, self._hints.get(pc, frozenset()), mode.has_loops, LIMIT)
        if code is None:
            return False
        code.careful = frozenset(at for at in self._careful if code.covers(at))
        return self._library.known_unit(unit_key(code, mode, self.choices, FULL), SYMBOL) is not None
