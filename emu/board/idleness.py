"""Does a core only wait? Firmware that spins on a flag in memory until an interrupt changes it.

When the core has been near one place for some turns, it is stepped until it is proved that it will go on like
this for ever (:mod:`emu.cpu.deadlock`); until an interrupt is requested, the host may then sleep.
"""

from __future__ import annotations

from emu.board import words
from emu.board.machine import Core, Machine
from emu.cpu.deadlock import loops_for_ever

NEAR = 256
"""Bytes around which a core has to stay."""
LONGEST = 160
"""Instructions of a loop that is recognised; a step of the reference stepper takes long."""
FIRST, MOST = 4, 512
"""Turns before somebody asks; doubled whenever the answer is no."""


class Idleness:
    """Watches core 0 while it is the only one that runs."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._pc = 0
        self._turns = 0
        self._patience = FIRST
        self._seen: tuple[int, ...] = ()
        self.is_proved = False
        """The core goes round for ever, as far as it is up to itself."""

    def look(self) -> bool:
        """After a turn: True when the core waits for an interrupt."""
        core, seen = self._machine.cores[0], self._activity()
        pc = int(core.engine.state.PC)
        if abs(pc - self._pc) > NEAR or seen != self._seen or self._machine.cores[1].runs:
            self._pc, self._seen, self._turns = pc, seen, 0
            self._patience = FIRST
            return False
        self._turns += 1
        if self._turns < self._patience:
            return False
        self._turns = 0
        self._patience = min(2 * self._patience, MOST)
        self.is_proved = self._prove(core)
        return self.is_proved

    def is_over(self) -> bool:
        """Something may have changed for the core: an interrupt, an alarm, a second core."""
        interrupts = self._machine.cores[0].engine.interrupts
        state = interrupts.state
        asks = state.INTERRUPT & state.INTENABLE or interrupts.has_alarms or self._machine.cores[1].runs
        if asks or self._activity() != self._seen:
            self.is_proved = False
        return not self.is_proved

    def _prove(self, core: Core) -> bool:
        state = core.engine.state
        kept, state.budget = state.budget, 1 << 40
        try:
            return loops_for_ever(core.engine, LONGEST)
        finally:
            state.budget = kept

    def _activity(self) -> tuple[int, ...]:
        array = self._machine.words
        taken = sum(self._machine.cores[0].engine.interrupts.taken.values())
        counters = (words.RX_HEAD, words.RX_TAIL, words.TX_STAGED, words.FIFO_READ)
        return (taken, *(int(array[b + w]) for b in (words.UART, words.USB) for w in counters))
