"""Interrupts and timers of one core (Xtensa ISA manual, Interrupt, High-Priority Interrupt, Timer options).

Time is the instruction counter: one cycle an instruction. The rule that both tiers keep to the instruction:
after each executed instruction every timer n whose CCOMPAREn equals CCOUNT requests its interrupt, and before
each instruction the highest interrupt that is requested, enabled and above the current level is taken. A core
that waits (``waiti``) lets the time pass up to the next timer that can wake it; that costs no instruction.

``due`` is the instruction count at which :meth:`Interrupts.look` is needed at the latest. Instructions that
change what interrupts depend on ask for it at once with :meth:`Interrupts.changed`. A tier that cannot look
between instructions runs in slices (:mod:`emu.cpu.slices`) that end exactly where it is needed.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from functools import cache

from emu.cpu.exceptions import enter, enter_level, setting
from emu.cpu.machine import Cause
from emu.cpu.slices import Slice
from emu.cpu.state import CpuState
from emu.isa.table import Row, read_csv

MASK32 = 0xFFFFFFFF
LEVELS = 7
EXCM_LEVEL = 3
"""While PS.EXCM is set, interrupts up to this level wait (core configuration, XCHAL_EXCM_LEVEL)."""
NMI_LEVEL = 7
TIMERS = ("CCOMPARE0", "CCOMPARE1", "CCOMPARE2")
WAITING = 1
"""Bit of ``state.flags``: a copy of the state knows that the core waits."""

DEPENDS_ON = frozenset(("PSINTLEVEL", "PSEXCM", "INTERRUPT", "INTENABLE", "CCOUNT", *TIMERS))
"""States whose writers may make an interrupt possible at once."""


@cache
def level_of(number: int) -> int:
    """Priority level 1..7 of an interrupt 0..31."""
    return setting(f"XCHAL_INT{number}_LEVEL")


@cache
def type_of(number: int) -> str:
    """extern_level, extern_edge, timer, software, nmi or profiling."""
    wanted = f"XCHAL_INT{number}_TYPE"
    return next(line["value"] for line in read_csv("core-config.csv") if line["name"] == wanted)


@cache
def level_mask(level: int) -> int:
    """Interrupts of a level, bit n for number n."""
    return setting(f"XCHAL_INTLEVEL{level}_MASK")


@cache
def timer_number(timer: int) -> int:
    """Interrupt number of a timer 0..2."""
    return setting(f"XCHAL_TIMER{timer}_INTERRUPT")


@cache
def _nmi() -> int:
    return 1 << setting("XCHAL_NMI_INTERRUPT")


@cache
def may_allow(row: Row) -> bool:
    """True for instructions behind which an interrupt may have become possible."""
    return any(use.role != "in" and use.name in DEPENDS_ON for use in row.states)


class Interrupts:
    """Requests, timers and waiting of one core."""

    def __init__(self, state: CpuState) -> None:
        self.state = state
        self.slice = Slice(state)
        self.due = 0
        self.is_patient = False
        """Someone else (another core, a board) may raise a line while the core waits."""
        self.waited = 0
        """Cycles that passed while the core waited; they are no instructions."""
        self.grant: Callable[[int], int] | None = None
        """Asked how many of the cycles up to the next event may pass now while the core waits; a board that
        ties waiting to another clock gives fewer, and the core goes on waiting.
        """
        self.taken: dict[int, int] = {}
        """How often each level was taken."""
        self._alarms: list[tuple[int, int, Callable[[], object]]] = []
        self._set = 0
        self._fired_at = int(state.instructions)
        """Instruction count at which the timers were last looked at: each count is one moment of time."""

    def reset(self) -> None:
        """The core was reset: time starts again, it does not wait, alarms are off."""
        self.is_waiting = False
        self.waited = 0
        self._alarms.clear()
        self._fired_at = int(self.state.instructions)
        self.changed()

    @property
    def is_waiting(self) -> bool:
        """``waiti`` was executed and nothing has woken the core yet."""
        return bool(self.state.flags & WAITING)

    @is_waiting.setter
    def is_waiting(self, value: bool) -> None:
        self.state.flags = WAITING if value else 0

    @property
    def cycles(self) -> int:
        """Time since the reset: executed instructions, and what passed while the core waited."""
        return int(self.state.instructions) + self.waited

    def call_at(self, cycle: int, callback: Callable[[], object]) -> None:
        """Call the host in front of the first instruction at or behind a moment of :attr:`cycles`.

        For devices with a sense of time: the callback may raise lines and set further alarms.
        """
        self._set += 1
        heapq.heappush(self._alarms, (cycle, self._set, callback))
        self.changed()

    @property
    def has_alarms(self) -> bool:
        """The host will be called at some time."""
        return bool(self._alarms)

    def _ring(self) -> None:
        while self._alarms and self._alarms[0][0] <= self.cycles:
            heapq.heappop(self._alarms)[2]()

    # --- requests from outside --------------------------------------------------------------------------
    def raise_line(self, number: int) -> None:
        """A device asks for interrupt ``number`` (0..31).

        A level-triggered one stays requested until :meth:`lower_line`; edge-triggered ones and the NMI are
        latched. Raises ValueError for a number that no device can raise.
        """
        self._external(number)
        self.state.INTERRUPT |= 1 << number
        self.changed()

    def lower_line(self, number: int) -> None:
        """The device takes a level-triggered request back; no effect on latched ones."""
        if self._external(number) == "extern_level":
            self.state.INTERRUPT &= ~(1 << number)
            self.changed()

    @staticmethod
    def _external(number: int) -> str:
        if not 0 <= number < 32:
            raise ValueError(f"interrupt {number}: the core has the interrupts 0..31")
        kind = type_of(number)
        if kind not in ("extern_level", "extern_edge", "nmi"):
            raise ValueError(f"interrupt {number} is a {kind} interrupt of the core: no device can raise it")
        return kind

    # --- looking ------------------------------------------------------------------------------------------
    def changed(self) -> None:
        """Look before the next instruction."""
        self.due = 0
        self.slice.cut()

    def look(self) -> int:
        """Request what timers ask for; wake the core; the level of the interrupt to take now, 0 for none."""
        self._ring()
        self._fire_timers()
        level = self._level_to_take() if self.state.INTERRUPT else 0
        if self.is_waiting and not level:
            level = self._wait()
        if level:
            self.is_waiting = False
        self.due = self.state.instructions + self._distance()
        return level

    def take(self, level: int) -> None:
        """Enter the handler of a level that :meth:`look` gave."""
        state = self.state
        self.taken[level] = self.taken.get(level, 0) + 1
        if level == 1:
            enter(state, Cause.LEVEL1_INTERRUPT, 0)
        else:
            enter_level(state, level, f"XCHAL_INTLEVEL{level}_VECOFS")
        if level == NMI_LEVEL:
            state.INTERRUPT &= ~_nmi()
        self.changed()

    def request(self, level: int) -> int:
        """The lowest number among the interrupts of ``level`` that are requested and enabled."""
        bits = self._enabled() & level_mask(level)
        return (bits & -bits).bit_length() - 1

    def _fire_timers(self) -> None:
        """Timers that CCOUNT has met behind the last instruction."""
        state = self.state
        now = state.instructions
        if now == self._fired_at:
            return
        self._fired_at = now
        count = (state.CCOUNT + now) & MASK32
        compares = (state.CCOMPARE0, state.CCOMPARE1, state.CCOMPARE2)
        if count in compares:
            for timer, compare in enumerate(compares):
                state.INTERRUPT |= (compare == count) << timer_number(timer)

    def _enabled(self) -> int:
        return int(self.state.INTERRUPT & (self.state.INTENABLE | _nmi()))

    def current_level(self, level: int | None = None) -> int:
        """Interrupts up to this level wait, with PS.INTLEVEL = ``level`` if given; the NMI never does."""
        level = int(self.state.PSINTLEVEL) if level is None else level
        return min(max(level, EXCM_LEVEL) if self.state.PSEXCM else level, NMI_LEVEL - 1)

    def _level_to_take(self) -> int:
        requested = self._enabled()
        if not requested:
            return 0
        floor = self.current_level()
        return next((n for n in range(LEVELS, floor, -1) if requested & level_mask(n)), 0)

    # --- time ---------------------------------------------------------------------------------------------
    def _distance(self) -> int:
        """Cycles until a timer or an alarm is due, 1..2**32."""
        state = self.state
        after = state.CCOUNT + state.instructions + 1
        first, second = state.CCOMPARE0 - after & MASK32, state.CCOMPARE1 - after & MASK32
        distance = min(first, second, state.CCOMPARE2 - after & MASK32) + 1
        if self._alarms:
            distance = max(1, min(distance, self._alarms[0][0] - self.cycles))
        return int(distance)

    def can_wake(self, level: int | None = None) -> bool:
        """True when something ends a wait at ``level`` (now: None): a timer, a request that is already
        there, or perhaps an alarm.
        """
        if self._alarms:
            return True
        floor = self.current_level(level)
        hopeful = self._enabled()
        for timer in range(len(TIMERS)):
            hopeful |= 1 << timer_number(timer) & self.state.INTENABLE
        return any(hopeful & level_mask(n) for n in range(LEVELS, floor, -1))

    def _wait(self) -> int:
        """Let the time pass up to a timer or an alarm that wakes the core; 0 when none can."""
        state = self.state
        while self.can_wake():
            distance = self._distance()
            passed = distance if self.grant is None else self.grant(distance)
            state.CCOUNT = (state.CCOUNT + passed) & MASK32
            self.waited += passed
            self._fired_at = -1
            self._ring()
            self._fire_timers()
            level = self._level_to_take()
            if level or passed < distance:
                return level
        return 0

    def let_pass(self, cycles: int) -> None:
        """Time goes on at no instruction, past every timer and alarm on the way. For boards, between
        instructions.
        """
        while cycles > 0:
            passed = min(cycles, self._distance())
            self.state.CCOUNT = (self.state.CCOUNT + passed) & MASK32
            self.waited += passed
            cycles -= passed
            self._fired_at = -1
            self._ring()
            self._fire_timers()
        self.changed()
