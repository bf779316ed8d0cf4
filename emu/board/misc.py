"""Small devices: random numbers, eFuses, straps, system control, cache control."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial

from emu.board.chip import Source
from emu.board.registers import MASK32, Registers
from emu.board.timers import Clockwork

RANDOM = 0x7C
"""Offset of the random number generator in its page (WDEV_RND_REG of ESP-IDF)."""


def new_random(seed: int | None) -> Registers:
    """The page with the random number generator. ``seed``: None for numbers that nobody can repeat."""
    registers = Registers(0x60035000)
    source: random.Random = random.SystemRandom() if seed is None else random.Random(seed)
    registers.readers[RANDOM] = lambda: source.getrandbits(32)
    return registers


def new_efuses(mac: bytes) -> Registers:
    """The eFuse controller: base MAC, chip revision v0.2, no keys, nothing disabled."""
    low, high = int.from_bytes(mac[2:], "big"), int.from_bytes(mac[:2], "big")
    values = {0x44: low, 0x48: high, 0x50: 2 << 18, 0x6C: 0, 0x1D0: 0, 0x1FC: 0x2101180}
    return Registers(0x60007000, values, plain=range(0, 0x200, 4))


def new_gpio(strap: Callable[[], int]) -> Registers:
    """GPIO: the straps of the last reset; levels and settings are only kept."""
    registers = Registers(0x60004000, plain=range(0x00, 0x700, 4))
    registers.readers[0x38] = strap
    return registers


CORE1_CONTROL0, CORE1_CONTROL1 = 0x00, 0x04
CPU_INTR = 0x30
CLKGATE, RUNSTALL, RESETING = 1 << 1, 1 << 0, 1 << 2
_SYSTEM_PLAIN = (*range(0x04, 0x30, 4), *range(0x40, 0x100, 4), 0xFFC)
_SYSTEM_RESETS = {
    CORE1_CONTROL0: RESETING,
    0x10: 0x0C,
    0x18: 0xF9C1E06F,
    0x1C: 0x600,
    0x60: 0x1 << 10,
}


class System(Registers):
    """System registers: the second core, interrupts that cores send each other."""

    def __init__(self, board: Clockwork, core1_changed: Callable[[bool], None]) -> None:
        super().__init__(0x600C0000, _SYSTEM_RESETS, _SYSTEM_PLAIN)
        self._board = board
        self._core1_changed = core1_changed
        self.readers[CORE1_CONTROL0] = lambda: self.values[CORE1_CONTROL0]
        self.writers[CORE1_CONTROL0] = self._core1
        for number in range(4):
            self.readers[CPU_INTR + 4 * number] = partial(self._sent, number)
            self.writers[CPU_INTR + 4 * number] = partial(self._send, number)

    @property
    def core1_runs(self) -> bool:
        """The second core has a clock, is not stalled and not in reset."""
        return self.values[CORE1_CONTROL0] & (CLKGATE | RUNSTALL | RESETING) == CLKGATE

    def _core1(self, value: int) -> None:
        was_reset = bool(self.values[CORE1_CONTROL0] & RESETING)
        self.values[CORE1_CONTROL0] = value
        self._core1_changed(was_reset or bool(value & RESETING))

    def _sent(self, number: int) -> int:
        return self.values.get(CPU_INTR + 4 * number, 0)

    def _send(self, number: int, value: int) -> None:
        self.values[CPU_INTR + 4 * number] = value & 1
        self._board.set_source(Source.CPU0 + number, bool(value & 1))


def new_cache() -> Registers:
    """EXTMEM: every operation on the caches is done at once, and there is nothing to do."""
    registers = Registers(0x600C4000, plain=range(0, 0x1000, 4))
    done = {
        0x20: 1 << 1,
        0x28: 1 << 3,
        0x34: 2,
        0x40: 2,
        0x4C: 2,
        0x80: 2,
        0x88: 4,
        0x94: 2,
        0xA0: 2,
        0xAC: 2,
    }
    for offset, bits in done.items():
        registers.readers[offset] = partial(_done, registers, offset, bits)
    return registers


def _done(registers: Registers, offset: int, bits: int) -> int:
    return registers.values.get(offset, 0) | bits


def new_storage(base: int, size: int) -> Registers:
    """A block that only keeps what is written: pins, clocks and permissions have no effect here."""
    return Registers(base, plain=range(0, size, 4))


__all__ = ["MASK32", "System", "new_cache", "new_efuses", "new_gpio", "new_random", "new_storage"]
