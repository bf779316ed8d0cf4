"""The translator for a board: native code is made in small steps, so that a board always answers soon.

A loader or a host program gives up after seconds, and code that runs once or twice is stepped faster than
native code is made of it. Units are small at first; those that turn out to be busy are made again, whole and
with full effort, by another thread, and taken from the cache when they are there.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from emu.cpu.cache import FileCache, default_folder
from emu.cpu.engine import Engine
from emu.cpu.state import ExitReason
from emu.cpu.translator import Translator
from emu.cpu.translator.discover import LIMIT, Code, discover
from emu.cpu.translator.dispatch import _has_vectors
from emu.cpu.translator.leave import REASON
from emu.cpu.translator.library import unit_key
from emu.cpu.translator.modes import Mode
from emu.cpu.translator.native import FULL, SCALAR, object_code
from emu.cpu.translator.unit import SYMBOL, translate

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
        self.cache = FileCache(engine.options.cache_dir or default_folder())

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
        self.unit_limit = LIMIT if self._is_made(pc) else FIRST_LIMIT
        return super()._unit(pc)

    def _is_made(self, pc: int) -> bool:
        """The whole unit is there with full effort; if it is busy and is not, it will be."""
        mode = self._mode
        assert mode is not None
        code = discover(self._reader, pc, self._hints.get(pc, frozenset()), mode.has_loops, LIMIT)
        if code is None:
            return False
        code.careful = frozenset(at for at in self._careful if code.covers(at))
        code.has_nans = any(code.covers(at) for at in self._nans)
        key = unit_key(code, mode, self.choices, FULL)
        if self._library.known_unit(key, SYMBOL) is not None:
            return True
        if pc in self._busy:
            self._busy.discard(pc)  # it goes on as it is, and asks again later
            _make_later(key, code, mode, self)
        return False


def _make_later(key: str, code: Code, mode: Mode, translator: PatientTranslator) -> None:
    """Let another thread put the unit's native code into the cache, once."""
    if key in _ASKED:
        return
    _ASKED.add(key)
    choices, cache = translator.choices, translator.cache

    def make() -> None:
        effort = FULL if _has_vectors(code) else SCALAR
        cache.put(key, object_code(translate(code, mode, choices, FULL), effort))

    _MAKER.submit(make)


_ASKED: set[str] = set()
_MAKER = ThreadPoolExecutor(max_workers=1, thread_name_prefix="native code")
