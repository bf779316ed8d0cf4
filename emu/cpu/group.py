"""Two cores on one memory, taking turns of some instructions in an order that a seed decides.

Instructions are whole: nothing of another core happens inside one, so ``s32c1i`` is atomic and every core
sees all stores of the others in their order (the chip promises no more than that behind ``memw``). Each core
counts its own cycles. Runs are the same for the same seed, on either tier.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from emu.cpu.calls import Argument, CallResult
from emu.cpu.deadlock import loops_for_ever
from emu.cpu.engine import DEFAULT_BUDGET, RETURN_ADDRESS, Engine, Entered
from emu.cpu.loader import Span
from emu.cpu.options import EngineOptions
from emu.cpu.schedule import Schedule
from emu.cpu.state import ExitReason
from emu.cpu.traps import Trap, TrapKind
from emu.image import Image

PATIENCE = 40
"""Turns of a core that all end within NEAR bytes before somebody asks whether it loops for ever."""
NEAR = 256


@dataclass
class Core:
    """One core's part of a run. ``result``: what its call returned, once it has."""

    engine: Engine
    entered: Entered | None = None
    result: CallResult | None = None
    trail: list[int] = field(default_factory=list)
    """PC at the end of the last turns."""

    @property
    def is_running(self) -> bool:
        """True between start and return of its call."""
        return self.entered is not None and self.result is None

    @property
    def is_asleep(self) -> bool:
        """Waits for an interrupt that no timer will raise."""
        clock = self.engine.interrupts
        return clock.is_waiting and not clock.can_wake()

    @property
    def is_suspect(self) -> bool:
        """Has not got anywhere for many turns."""
        trail = self.trail
        return self.is_asleep or (len(trail) == PATIENCE and max(trail) - min(trail) < NEAR)


class EngineGroup:
    """Core 0 and core 1 of one chip.

    ``cores[n].engine`` is core n; both share ``memory``. ``executed``: instructions of all cores so far.
    """

    def __init__(
        self, image: Image, options: EngineOptions | None = None, schedule: Schedule | None = None
    ) -> None:
        """Raises ImageError when the image leaves no room for two stacks."""
        first = Engine(image, options)
        self.cores = (Core(first), Core(first.add_core()))
        self.memory = first.memory
        self.schedule = schedule or Schedule()
        self.executed = 0
        for core in self.cores:
            core.engine.interrupts.is_patient = True

    def raise_interrupt(self, core: int, number: int) -> None:
        """A device requests an interrupt of one core; see :meth:`Engine.raise_interrupt`."""
        self.cores[core].engine.raise_interrupt(number)

    def start(
        self,
        core: int,
        function: str | int,
        arguments: Sequence[Argument] = (),
        *,
        stack: Span | None = None,
        dirty: int | None = None,
    ) -> None:
        """Begin a call on a core; it runs when the group runs. See :meth:`Engine.begin`.

        ``stack``: where its stack is, if not in the core's own place.
        """
        place = self.cores[core]
        if stack is not None:
            place.engine.stack = stack
        place.entered = place.engine.begin(function, arguments, dirty=dirty)
        place.result = None
        place.trail.clear()

    def call(
        self,
        function: str | int,
        arguments: Sequence[Argument] = (),
        *,
        budget: int = DEFAULT_BUDGET,
        dirty: int | None = None,
    ) -> CallResult:
        """Call a function on core 0 and run both cores until it returns; core 1 keeps its place.

        ``budget``: instructions of both cores together. Raises Trap (also what core 1 runs into, and kind
        DEADLOCK when no core can ever go on), and what :meth:`Engine.begin` raises.
        """
        self.start(0, function, arguments, dirty=dirty)
        self.run(budget=budget)
        result = self.cores[0].result
        assert result is not None
        return result

    def run(self, core: int = 0, *, budget: int = DEFAULT_BUDGET) -> None:
        """Run all cores until the call of ``core`` has returned. Raises Trap."""
        end = self.executed + budget
        turns = self.schedule.turns(len(self.cores))
        while self.cores[core].is_running:
            number, instructions = next(turns)
            place = self.cores[number]
            if not place.is_running:
                continue
            if self.executed >= end:
                raise _tell(place, number, place.engine.budget_trap())
            if not place.is_asleep:
                self._turn(place, number, min(instructions, end - self.executed))
            if place.is_suspect:
                self._check_deadlock()

    def _turn(self, place: Core, number: int, instructions: int) -> None:
        engine = place.engine
        engine.state.budget = instructions
        try:
            reason = engine.advance()
            if reason == ExitReason.RETURN:
                assert place.entered is not None
                place.result = engine.finish(place.entered)
        except Trap as trap:
            raise _tell(place, number, trap) from None
        finally:
            self.executed += instructions - engine.state.budget
        place.trail.append(engine.state.PC)
        del place.trail[:-PATIENCE]

    # --- deadlock -----------------------------------------------------------------------------------------
    def _check_deadlock(self) -> None:
        """Raise a Trap when no running core can ever go on."""
        running = [core for core in self.cores if core.is_running]
        if not all(core.is_suspect for core in running):
            return
        for core in running:
            if not core.is_asleep and not self._is_stuck(core):
                core.trail.clear()
                return
        first = self.cores[0]
        message = "deadlock: " + "; ".join(_doing(n, core) for n, core in enumerate(self.cores))
        raise first.engine.traps.make(
            TrapKind.DEADLOCK, message, first.engine.stepper.plan_at(first.engine.state.PC)
        )

    def _is_stuck(self, core: Core) -> bool:
        state = core.engine.state
        before, state.budget = state.instructions, 1 << 62
        try:
            return loops_for_ever(core.engine)
        except Trap as trap:
            raise _tell(core, core.engine.core, trap) from None
        finally:
            self.executed += state.instructions - before


def _doing(number: int, core: Core) -> str:
    place = core.engine.locate(core.engine.state.PC)
    if core.entered is None:
        return f"core {number} was never started"
    if core.engine.state.PC == RETURN_ADDRESS:
        return f"core {number} has returned"
    if core.is_asleep:
        return f"core {number} waits for an interrupt at {place}"
    return f"core {number} loops at {place} and nothing in memory changes"


def _tell(core: Core, number: int, trap: Trap) -> Trap:
    """The trap with the core that ran into it, when that is not the usual one."""
    if number == 0:
        return trap
    return Trap(trap.kind, trap.where, f"core {number}: {trap.message}", trap.context, trap.address)
