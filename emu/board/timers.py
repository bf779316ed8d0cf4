"""SYSTIMER and the two timer groups with their watchdogs (chip reference manual, "System Timer", "Timer
Group").

Both count emulated cycles: 16 MHz and the 80 MHz bus clock by a divider. Counters have 52 and 54 bits, so
nothing special happens when 32 bits are full.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Protocol

from emu.board.chip import APB_HZ, CPU_HZ, Reset, Source
from emu.board.registers import MASK32, Registers

SYSTIMER_HZ = 16_000_000
COUNTER_BITS = 52
WDT_KEY = 0x50D83AA1


class Clockwork(Protocol):
    """What timers need of the board."""

    def cycles(self) -> int:
        """Emulated time."""

    def call_at(self, cycle: int, callback: Callable[[], object]) -> None:
        """An alarm."""

    def set_source(self, source: int, level: bool) -> None:
        """An interrupt source."""

    def request_reset(self, cause: Reset) -> None:
        """Reset the chip before its next instruction."""


def after(now: int, ticks: int, hertz: int) -> int:
    """The first cycle at which a counter that began at ``now`` has counted ``ticks``."""
    return now + -(-ticks * CPU_HZ // hertz)


class SysTimer(Registers):
    """Two counters of 52 bits, three comparators (one-shot or periodic)."""

    def __init__(self, board: Clockwork) -> None:
        super().__init__(0x60023000, {0: 0x46000000}, plain=(0, *range(0x0C, 0x40, 4), 0xFC))
        self._board = board
        self._epoch = [0, 0]
        self._shown = [0, 0]
        self._targets = [0, 0, 0]
        self._raw = 0
        self._enabled = 0
        self._age = 0
        for unit in range(2):
            self.writers[0x04 + 4 * unit] = partial(self._update, unit)
            self.readers[0x04 + 4 * unit] = lambda: 1 << 29
            self.readers[0x40 + 8 * unit] = partial(self._part, unit, 32)
            self.readers[0x44 + 8 * unit] = partial(self._part, unit, 0)
            self.writers[0x5C + 4 * unit] = partial(self._load, unit)
        for target in range(3):
            self.writers[0x50 + 4 * target] = partial(self._arm, target)
        self.readers.update({0x64: lambda: self._enabled, 0x68: lambda: self._raw, 0x70: self._status})
        self.writers.update({0x64: self._enable, 0x6C: self._clear})

    def reset(self) -> None:
        """Counters at 0, comparators off."""
        super().reset()
        now = self.count_at(self._board.cycles())
        self._epoch = [now, now]
        self._raw = self._enabled = 0
        self._age += 1

    @staticmethod
    def count_at(cycles: int) -> int:
        """Ticks of the clock since the start of time."""
        return cycles * SYSTIMER_HZ // CPU_HZ

    def counter(self, unit: int) -> int:
        """A counter as it stands."""
        return (self.count_at(self._board.cycles()) - self._epoch[unit]) & ((1 << COUNTER_BITS) - 1)

    def _update(self, unit: int, value: int) -> None:
        if value >> 30 & 1:
            self._shown[unit] = self.counter(unit)

    def _part(self, unit: int, shift: int) -> int:
        return self._shown[unit] >> shift

    def _load(self, unit: int, _value: int) -> None:
        value = (self.values.get(0x0C + 8 * unit, 0) & 0xFFFFF) << 32 | self.values.get(0x10 + 8 * unit, 0)
        self._epoch[unit] = self.count_at(self._board.cycles()) - value

    def _arm(self, target: int, _value: int = 0) -> None:
        """Comparator ``target``: its value or period, its unit (bit 31) and mode (bit 30)."""
        config = self.values.get(0x34 + 4 * target, 0)
        self._age += 1
        self._targets[target] = self._age
        if not self.values.get(0, 0) >> (24 - target) & 1:
            return
        unit = config >> 31 & 1
        now = self.counter(unit)
        if config >> 30 & 1:
            ticks = max(config & 0x3FFFFFF, 1)
        else:
            high, low = self.values.get(0x1C + 8 * target, 0), self.values.get(0x20 + 8 * target, 0)
            ticks = max(((high & 0xFFFFF) << 32 | low) - now, 0)
        self._set(target, self._age, self._board.cycles(), ticks)

    def _set(self, target: int, age: int, start: int, ticks: int) -> None:
        self._board.call_at(after(start, ticks, SYSTIMER_HZ), lambda: self._fire(target, age, start, ticks))

    def _fire(self, target: int, age: int, start: int, ticks: int) -> None:
        if self._targets[target] != age:
            return
        self._raw |= 1 << target
        self._follow()
        if self.values.get(0x34 + 4 * target, 0) >> 30 & 1:
            self._set(target, age, after(start, ticks, SYSTIMER_HZ), ticks)

    def _status(self) -> int:
        return self._raw & self._enabled

    def _enable(self, value: int) -> None:
        self._enabled = value & 7
        self._follow()

    def _clear(self, value: int) -> None:
        self._raw &= ~value
        self._follow()

    def _follow(self) -> None:
        for target in range(3):
            self._board.set_source(Source.SYSTIMER0 + target, bool(self._status() >> target & 1))


class TimerGroup(Registers):
    """Two timers of 54 bits and the main watchdog of a group."""

    def __init__(self, board: Clockwork, number: int) -> None:
        plain = (*range(0x48, 0x64, 4), 0x68, 0x6C, 0x70, 0x74, 0x80, 0xF8, 0xFC)
        plain = (*plain, 0x10, 0x14, 0x18, 0x1C, 0x34, 0x38, 0x3C, 0x40)
        resets = {0x00: 0x60002000, 0x24: 0x60002000, 0x48: 0x4C000, 0x4C: 0x10000, 0x64: WDT_KEY}
        super().__init__(0x6001F000 + 0x1000 * number, resets, plain)
        self._board = board
        self.number = number
        self._first = Source.TG0_T0 + 3 * number
        self._since = [0, 0]
        self._count = [0, 0]
        self._shown = [0, 0]
        self._age = [0, 0, 0]
        self._raw = self._enabled = 0
        self._stage = 0
        for timer in range(2):
            self._connect(timer, 0x24 * timer)
        self.readers.update({0x70: lambda: self._enabled, 0x74: lambda: self._raw, 0x78: self._status})
        self.writers.update({0x70: self._enable, 0x7C: self._clear, 0x60: lambda _value: self._feed()})
        self.writers[0x64] = lambda value: self.values.__setitem__(0x64, value)
        self.readers[0x64] = lambda: self.values[0x64]
        self.writers.update({offset: partial(self._watchdog, offset) for offset in range(0x48, 0x60, 4)})
        # The RTC clock is measured against the crystal at once: 1024 of its cycles, say.
        self.readers[0x68] = lambda: self.values.get(0x68, 0) | 1 << 15
        self.readers[0x6C] = lambda: (self._calibration() << 7) | 1

    def reset(self) -> None:
        """Timers stand, the watchdog is off (the ROM has switched off its flash boot mode)."""
        super().reset()
        self._count, self._raw, self._enabled = [0, 0], 0, 0
        self._age = [age + 1 for age in self._age]

    def _calibration(self) -> int:
        cycles = self.values.get(0x68, 0) >> 16 & 0x7FFF
        return cycles * 40_000_000 // 136_000

    def _connect(self, timer: int, at: int) -> None:
        self.readers[at] = lambda: self.values[at]
        self.writers[at] = lambda value: self._configure(timer, at, value)
        self.readers[at + 4] = lambda: self._shown[timer]
        self.readers[at + 8] = lambda: self._shown[timer] >> 32
        self.writers[at + 0x0C] = lambda _value: self._show(timer)
        self.readers[at + 0x0C] = lambda: 0
        self.writers[at + 0x20] = lambda _value: self._load(timer)

    # --- counting -----------------------------------------------------------------------------------------
    def _rate(self, timer: int) -> int:
        config = self.values[0x24 * timer]
        divider = config >> 13 & 0xFFFF or 65536
        source = 40_000_000 if config >> 9 & 1 else APB_HZ
        return source // max(divider, 2)

    def counter(self, timer: int) -> int:
        """A counter as it stands, 54 bits."""
        config = self.values[0x24 * timer]
        if not config >> 31:
            return self._count[timer]
        ticks = (self._board.cycles() - self._since[timer]) * self._rate(timer) // CPU_HZ
        sign = 1 if config >> 30 & 1 else -1
        return (self._count[timer] + sign * ticks) & ((1 << 54) - 1)

    def _start(self, timer: int, value: int) -> None:
        self._count[timer] = value
        self._since[timer] = self._board.cycles()
        self._arm(timer)

    def _configure(self, timer: int, at: int, value: int) -> None:
        count = self.counter(timer)
        self.values[at] = value & ~(1 << 12) if value >> 12 & 1 else value
        self._start(timer, 0 if value >> 12 & 1 else count)
        self.values[at] = value & ~(1 << 12)
        if value >> 10 & 1:
            self._arm(timer)

    def _show(self, timer: int) -> None:
        self._shown[timer] = self.counter(timer)

    def _load(self, timer: int) -> None:
        at = 0x24 * timer
        self._start(timer, self.values.get(at + 0x18, 0) | (self.values.get(at + 0x1C, 0) & 0x3FFFFF) << 32)

    def _arm(self, timer: int) -> None:
        at = 0x24 * timer
        config = self.values[at]
        self._age[timer] += 1
        if not config >> 31 or not config >> 10 & 1:
            return
        target = self.values.get(at + 0x10, 0) | (self.values.get(at + 0x14, 0) & 0x3FFFFF) << 32
        distance = target - self.counter(timer) if config >> 30 & 1 else self.counter(timer) - target
        age = self._age[timer]
        cycle = after(self._board.cycles(), max(distance, 0), self._rate(timer))
        self._board.call_at(cycle, lambda: self._fire(timer, age))

    def _fire(self, timer: int, age: int) -> None:
        if self._age[timer] != age:
            return
        self._raw |= 1 << timer
        config = self.values[0x24 * timer]
        self.values[0x24 * timer] = config & ~(1 << 10)
        if config >> 29 & 1:
            self._load(timer)
        self._follow()

    # --- the watchdog -------------------------------------------------------------------------------------
    def _watchdog(self, offset: int, value: int) -> None:
        if self.values[0x64] == WDT_KEY:
            self.values[offset] = value
            self._feed()

    def _feed(self) -> None:
        self._stage = 0
        self._age[2] += 1
        self._next_stage()

    def _next_stage(self) -> None:
        config = self.values[0x48]
        if not config >> 31 or self._stage > 3:
            return
        divider = self.values.get(0x4C, 0) >> 16 or 1
        ticks = self.values.get(0x50 + 4 * self._stage, 0) * divider
        age = self._age[2]
        self._board.call_at(after(self._board.cycles(), ticks, APB_HZ), lambda: self._expire(age))

    def _expire(self, age: int) -> None:
        if self._age[2] != age:
            return
        action = self.values[0x48] >> (29 - 2 * self._stage) & 3
        self._stage += 1
        if action == 1:
            self._raw |= 1 << 2
            self._follow()
        elif action == 2:
            self._board.request_reset(Reset.TG1WDT_CPU if self.number else Reset.TG0WDT_CPU)
        elif action == 3:
            self._board.request_reset(Reset.TG1WDT_SYS if self.number else Reset.TG0WDT_SYS)
        self._next_stage()

    # --- interrupts ---------------------------------------------------------------------------------------
    def _status(self) -> int:
        return self._raw & self._enabled

    def _enable(self, value: int) -> None:
        self._enabled = value & MASK32
        self._follow()

    def _clear(self, value: int) -> None:
        self._raw &= ~value
        self._follow()

    def _follow(self) -> None:
        for bit in range(3):
            self._board.set_source(self._first + bit, bool(self._status() >> bit & 1))
