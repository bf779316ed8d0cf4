"""The interrupt matrix: which source requests which interrupt of which core (chip reference manual,
"Interrupt Matrix")."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from emu.board.registers import Registers
from emu.cpu.interrupts import Interrupts, type_of

BASE = 0x600C2000
SOURCES = 99
CORE1 = 0x800
STATUS = 0x18C
"""Offsets: the second core's map; the first of four words with the sources' levels."""
UNUSED = 6
"""A timer's number: sources that are mapped to one of the core's own interrupts request nothing."""


class Matrix(Registers):
    """One level for each source; the lines of the cores follow."""

    def __init__(self, cores: Sequence[Interrupts]) -> None:
        self._cores = list(cores)
        maps = {4 * source + CORE1 * core: 16 for core in range(2) for source in range(SOURCES)}
        super().__init__(BASE, maps, plain=(0x19C, CORE1 + 0x19C, 0x7FC))
        self._levels = 0
        self._lines = [0, 0]
        for core in range(2):
            for word in range(4):
                self.readers[STATUS + CORE1 * core + 4 * word] = partial(self._status, word)
        for offset in maps:
            self.writers[offset] = partial(self._map, offset)

    def reset(self) -> None:
        """No source requests, none is mapped."""
        super().reset()
        self._levels = 0
        self._follow()

    def set_source(self, source: int, level: bool) -> None:
        """A device requests, or does not request any more."""
        levels = self._levels & ~(1 << source) | level << source
        if levels != self._levels:
            self._levels = levels
            self._follow()

    def _status(self, word: int) -> int:
        return self._levels >> 32 * word

    def _map(self, offset: int, value: int) -> None:
        self.values[offset] = value & 0x1F
        self._follow()

    def _follow(self) -> None:
        for core, interrupts in enumerate(self._cores):
            wanted = 0
            for source in range(SOURCES):
                if self._levels >> source & 1:
                    wanted |= 1 << self.values[4 * source + CORE1 * core]
            changed = wanted ^ self._lines[core]
            self._lines[core] = wanted
            for number in range(32):
                if changed >> number & 1 and type_of(number) in ("extern_level", "extern_edge", "nmi"):
                    (interrupts.raise_line if wanted >> number & 1 else interrupts.lower_line)(number)
