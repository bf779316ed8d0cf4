"""Proof that a core loops for ever: it comes back to a state that it was in, and memory has not changed.

A core is stepped with an eye on memory. When PC and every register are again what they were, no store has
changed a value, no device was touched and the host was not asked, it will do the same again for ever, unless
something else changes memory or interrupts it. When this holds for every core at once, they wait for each
other.
"""

from __future__ import annotations

from typing import Any, cast

from emu.cpu import state_tools
from emu.cpu.engine import RETURN_ADDRESS, Engine
from emu.cpu.interrupts import TIMERS, timer_number
from emu.cpu.memory import Memory

LONGEST = 4096
"""Instructions of a loop that is recognised."""


class Watched:
    """Stands in for the memory of a stepper; ``has_changed``: something that others can see was done."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self.has_changed = False

    def load(self, address: int, size: int) -> int:
        """As :meth:`Memory.load`."""
        self._note_device(address)
        return self._memory.load(address, size)

    def store(self, address: int, size: int, value: int) -> None:
        """As :meth:`Memory.store`."""
        self._note_device(address)
        before = self._peek(address, size)
        self._memory.store(address, size, value)
        self.has_changed |= self._peek(address, size) != before

    def __getattr__(self, name: str) -> Any:
        return getattr(self._memory, name)

    def _note_device(self, address: int) -> None:
        region = self._memory.find(address)
        self.has_changed |= region is None or region.buffer is None

    def _peek(self, address: int, size: int) -> bytes:
        return b"" if self.has_changed else self._memory.read(address, size)


def loops_for_ever(engine: Engine, longest: int = LONGEST) -> bool:
    """Step a core until it is proved to loop (True), changes something or takes too long (False).

    The steps are executed for good. Raises Trap.
    """
    if _may_be_interrupted(engine):
        return False
    engine.take_memory()
    stepper, memory = engine.stepper, engine.memory
    watched = Watched(memory)
    stepper.memory = stepper.machine.memory = cast(Memory, watched)
    try:
        return _comes_back(engine, watched, longest)
    finally:
        stepper.memory = stepper.machine.memory = memory


def _comes_back(engine: Engine, watched: Watched, longest: int) -> bool:
    state = engine.state
    start, before = state.PC, state_tools.values(state)
    for _ in range(longest):
        if state.PC == RETURN_ADDRESS or engine.interrupts.is_waiting:
            return False
        if state.PC in engine.stepper.hooks:
            return False
        engine.stepper.step()
        if watched.has_changed:
            return False
        if start == state.PC and state_tools.values(state) == before:
            return True
    return False


def _may_be_interrupted(engine: Engine) -> bool:
    if engine.interrupts.has_alarms:
        return True
    return any(engine.state.INTENABLE >> timer_number(n) & 1 for n in range(len(TIMERS)))
