"""The program under the debugger: running it to the next reason to stop.

Continuing runs on the engine's own tier (translated code, unless it was told otherwise) up to hooks at the
breakpoints; single steps, watchpoints and traces run on the reference stepper.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import IntEnum
from time import monotonic

from emu.cpu.engine import RETURN_ADDRESS, Engine, Stopped
from emu.cpu.hooks import STOP
from emu.cpu.state import ExitReason
from emu.cpu.traps import Trap, TrapKind
from emu.debug.calls import Started
from emu.debug.observe import Access
from emu.debug.outcome import place_namer, result_text
from emu.debug.record import Recorder
from emu.debug.step_text import text_line

POLL = 2048
"""Steps between two looks at the connection."""
FIRST_SLICE = 4096
"""Instructions of a run before the first look; later ones are as long as SLICE_SECONDS allow."""
SLICE_SECONDS = 0.05
_UNLIMITED = (1 << 63) - 1


class Signal(IntEnum):
    """Signal numbers of the protocol (GDB's ``include/gdb/signals.def``)."""

    NONE = 0
    INT = 2
    ILL = 4
    TRAP = 5
    ABRT = 6
    FPE = 8
    SEGV = 11
    SYS = 12


_SIGNALS = {
    TrapKind.ILLEGAL: Signal.ILL,
    TrapKind.UNIMPLEMENTED: Signal.ILL,
    TrapKind.COPROCESSOR: Signal.ILL,
    TrapKind.DIVIDE_BY_ZERO: Signal.FPE,
    TrapKind.BREAK: Signal.TRAP,
    TrapKind.SERVICE: Signal.SYS,
    TrapKind.RETURN_MISMATCH: Signal.ABRT,
    TrapKind.EXCEPTION: Signal.ABRT,
    TrapKind.BUDGET: Signal.INT,
}
"""Everything else is about memory."""


@dataclass(frozen=True)
class Stop:
    """Why the program stopped. ``detail``: swbreak, hwbreak, watch, rwatch or awatch.

    ``address``: of a watchpoint. ``exit_code`` is not None when the program is over.
    """

    signal: int = Signal.TRAP
    detail: str = ""
    address: int = 0
    exit_code: int | None = None


@dataclass(frozen=True)
class Watch:
    """A watched range; ``kind``: watch (writes), rwatch (reads), awatch (both)."""

    kind: str
    address: int
    size: int

    def hit_by(self, access: Access) -> bool:
        """True when the access touches the range in the watched way."""
        wanted = self.kind == "awatch" or access.is_store == (self.kind == "watch")
        return wanted and access.address < self.address + self.size and self.address < access.end


class Inferior:
    """An engine at the start of a program or of a call.

    ``say`` is called with lines for the user (traps, results, traced instructions).
    """

    def __init__(
        self, engine: Engine, started: Started | None = None, say: Callable[[str], None] = print
    ) -> None:
        self.engine = engine
        self.started = started
        self.say = say
        self.breakpoints: dict[str, set[int]] = {"swbreak": set(), "hwbreak": set()}
        self.watches: list[Watch] = []
        self.is_traced = False
        self.is_over = False
        engine.stepper.has_debugger = True
        self._namer = place_namer(engine, started)

    @property
    def pc(self) -> int:
        """The program counter."""
        return int(self.engine.state.PC)

    def resume(
        self,
        interrupted: Callable[[], bool] = lambda: False,
        is_step: bool = False,
        within: range | None = None,
    ) -> Stop:
        """Run to the next stop. ``is_step``: one instruction; ``within``: as long as PC stays in that range.

        A breakpoint at the first instruction does not stop: the program is just leaving it. A break
        instruction at which the program stands is passed as if it did nothing.
        """
        if self.is_over or self.pc == RETURN_ADDRESS:
            self.is_over = True
            return Stop(exit_code=0)
        is_walk = is_step or within is not None or self.is_traced or bool(self.watches)
        self.engine.state.budget = _UNLIMITED if is_walk else FIRST_SLICE
        try:
            if self._leave_break() and is_step:
                return Stop()
            if is_walk:
                return self._walk(interrupted, is_step, within)
            return self._run(interrupted)
        except Trap as trap:
            return self._trapped(trap)
        except Stopped:
            return self._arrived(self.pc)

    def _run(self, interrupted: Callable[[], bool]) -> Stop:
        """Run on the engine's own tier, with hooks at the breakpoints."""
        engine, stops = self.engine, self._addresses()
        if self.pc in stops:
            self._leave_breakpoint()
            if self.pc in stops:
                return self._arrived(self.pc)
        hooks = [engine.hook(address, lambda _: STOP) for address in stops if address != RETURN_ADDRESS]
        try:
            budget, began = FIRST_SLICE, monotonic()
            while engine.advance() != ExitReason.RETURN:
                if interrupted():
                    return Stop(Signal.INT)
                budget = _next_slice(budget, monotonic() - began)
                engine.state.budget, began = budget, monotonic()
            return self._returned()
        finally:
            for hook in hooks:
                hook.remove()

    def _leave_breakpoint(self) -> None:
        """Execute the instruction at PC, which may take several steps when a window has to be filled."""
        state = self.engine.state
        executed, pc = state.instructions, state.PC
        while state.instructions == executed and pc == state.PC:
            self.engine.stepper.step()

    def _walk(self, interrupted: Callable[[], bool], is_step: bool, within: range | None) -> Stop:
        """Run on the reference stepper, looking at every instruction."""
        state, stops, left = self.engine.state, self._addresses(), POLL
        with Recorder(self.engine) as recorder:
            while True:
                accesses = self._traced_step(recorder) if self.is_traced else recorder.skip()
                if (stop := self._watched(accesses)) is not None:
                    return stop
                pc = state.PC
                if pc in stops or is_step or (within is not None and pc not in within):
                    return self._arrived(pc)
                left -= 1
                if not left:
                    left = POLL
                    if interrupted():
                        return Stop(Signal.INT)

    def _watched(self, accesses: Iterable[Access]) -> Stop | None:
        for watch in self.watches:
            hit = next((a for a in accesses if watch.hit_by(a)), None)
            if hit is not None:
                return Stop(detail=watch.kind, address=max(hit.address, watch.address))
        return None

    def _traced_step(self, recorder: Recorder) -> list[Access]:
        step = recorder.step()
        self.say(text_line(step, self.engine.image, self._namer))
        if step.trap is not None:
            raise step.trap
        return step.accesses

    def _addresses(self) -> frozenset[int]:
        return frozenset((RETURN_ADDRESS, *self.breakpoints["swbreak"], *self.breakpoints["hwbreak"]))

    def _arrived(self, pc: int) -> Stop:
        if pc == RETURN_ADDRESS:
            return self._returned()
        for kind, addresses in self.breakpoints.items():
            if pc in addresses:
                return Stop(detail=kind)
        return Stop()

    def _returned(self) -> Stop:
        """The call is over; the program is over when it is resumed once more."""
        if self.started is None:
            return Stop()
        try:
            result = self.engine.finish(self.started.entered)
        except Trap as trap:
            self.say(str(trap))
            return Stop(Signal.ABRT)
        self.say(f"the call returned after {result.instructions:,} instructions: {result_text(result)}")
        return Stop()

    def _trapped(self, trap: Trap) -> Stop:
        if trap.kind is not TrapKind.BREAK:
            self.say(str(trap))
        return Stop(_SIGNALS.get(trap.kind, Signal.SEGV))

    def _leave_break(self) -> bool:
        """Pass a break instruction at PC; False when there is none."""
        plan = self.engine.stepper.plan_at(self.pc)
        if plan is None or plan.insn.mnemonic not in ("break", "break.n"):
            return False
        self.engine.state.PC = plan.next_pc
        return True


def _next_slice(budget: int, seconds: float) -> int:
    """Twice as many instructions after a fast slice, fewer after a slow one: translated code is up to ten
    thousand times as fast as stepped code, and which of the two runs may change."""
    if seconds < SLICE_SECONDS:
        return 2 * budget
    return max(FIRST_SLICE, int(budget * SLICE_SECONDS / seconds))
