"""The engine: an image in memory, a processor, and calls of its functions from Python."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from emu.cpu import returns, state_tools
from emu.cpu.calls import Argument, CallResult, argument_words, pack_words
from emu.cpu.checker import Checker
from emu.cpu.contested import Use, uses
from emu.cpu.diagnostics import Check, Diagnostics
from emu.cpu.hooks import Callback, GuestCall, Hook, Served
from emu.cpu.interrupts import Interrupts
from emu.cpu.loader import Placement, Span, build_memory, find_stack
from emu.cpu.memory import Memory
from emu.cpu.mmu import Mmu
from emu.cpu.options import EngineOptions
from emu.cpu.readings import choose
from emu.cpu.shadow import INIT, READ, WRITE
from emu.cpu.state import ExitReason, new_state
from emu.cpu.stepper import Stepper
from emu.cpu.trapping import TrapMaker
from emu.cpu.traps import Location, Trap, TrapKind
from emu.cpu.unmodelled import Unmodelled
from emu.image import Image
from emu.isa.decode import Insn

RETURN_ADDRESS = 0x4FFFFFF0
"""Where functions return to: no memory is mapped there, and its top two bits are those of code addresses."""

DEFAULT_BUDGET = 1_000_000_000
LONGEST = 1 << 62
"""Instructions that a budget may have: the counters are signed 64-bit words."""
TURN = 1 << 27
"""Instructions after which a run comes back to Python at the latest: a tenth of a second or so in translated
code, in which nobody would hear Ctrl-C.
"""

CALLER_SPACE = 64
"""Bytes between the caller's stack arguments and the end of the stack: room for its own save area."""

PRIDS = (0xCDCD, 0xABAB)
"""PRID of core 0 and core 1."""

_SERVICES = {
    "waiti": "waiti: the code waits for an interrupt, and nothing here sends one",
    "simcall": "simcall: there is no simulator interface here",
}
_READS_FSR = re.compile(rb"\x90[\x0e\x1e\x2e\x3e\x4e\x5e\x6e\x7e\x8e\x9e\xae\xbe\xce\xde\xee\xfe]\xe3")


@dataclass(frozen=True)
class Entered:
    """A call that has begun: its function, the caller's frame, the instruction counter before it."""

    address: int
    frame: returns.Frame
    instructions: int


class Tier(Protocol):
    """Something that runs the processor until it has a reason to stop."""

    def run(self) -> ExitReason:
        """Run from PC; the state is complete when it returns. Raises Trap."""


@runtime_checkable
class Translating(Protocol):
    """A tier that runs code of its own making."""

    def instructions(self) -> Iterator[Insn]:
        """The instructions that there is code for."""


class Stopped(Exception):
    """A hook gave STOP: the run stands in front of the instruction at ``pc``; run again to go on."""

    def __init__(self, where: Location) -> None:
        super().__init__(f"stopped by a hook at {where}")
        self.where = where
        self.pc = where.address


class Engine:
    """One processor with one image. Not thread-safe; several engines are independent.

    ``memory``: the guest's address space; ``state``: the processor; ``arena``: free guest memory (PSRAM) for
    buffers; ``stack``: the guest's stack; ``diagnostics``: what was noticed since it was last cleared;
    ``core``: 0, or 1 for the other core of the same memory (:meth:`add_core`); ``interrupts``: timers and
    interrupt lines; ``unmodelled``: hardware that was used although nobody models it; ``mmu``: the table that
    shows flash and PSRAM, when the options ask for it.
    """

    def __init__(
        self, image: Image, options: EngineOptions | None = None, *, beside: Engine | None = None
    ) -> None:
        """``beside``: core 0, whose memory this core shares. Raises ImageError without room for a stack."""
        self.image = image
        self.options = options or EngineOptions()
        self.core = 0 if beside is None else 1
        self.memory, placement = self._memory(beside)
        self.stack: Span = placement.stack
        self.arena: Span = placement.arena
        self.mmu: Mmu | None = placement.mmu
        self.state = new_state(self.options.guard_pages)
        self.diagnostics = Diagnostics()
        self.readings = choose(self.options.readings)
        self.traps = TrapMaker(self.state, self.memory, self.locate, RETURN_ADDRESS)
        self.interrupts = Interrupts(self.state)
        self.unmodelled = Unmodelled(self.options.unmodelled, self._make_trap, self._here)
        self.track_fsr = self._track_fsr()
        self.stepper = self._make_stepper()
        self._tier: Tier | None = None
        self.take_memory()
        if beside is None and self.options.bounds:
            self._set_bounds()
        self.reset()

    def _memory(self, beside: Engine | None) -> tuple[Memory, Placement]:
        if beside is None:
            return build_memory(self.image, self.options)
        stack = find_stack(self.image, self.options.stack_bytes, beside.stack.start)
        return beside.memory, Placement(stack, beside.arena, beside.mmu)

    def add_core(self) -> Engine:
        """Core 1: a processor of its own, with its own stack, on this engine's memory.

        Raises ImageError when no room is left for its stack.
        """
        return Engine(self.image, self.options, beside=self)

    def _make_stepper(self) -> Stepper:
        stepper = Stepper(
            self.state,
            self.memory,
            self.traps,
            self.diagnostics,
            RETURN_ADDRESS,
            self.options.exceptions == "vectors",
        )
        stepper.machine.fused = self.options.fused == "fused"
        stepper.machine.track_fsr = self.track_fsr
        stepper.machine.watch = self.options.watch
        stepper.machine.readings = self.readings
        stepper.machine.run_service = self._service
        stepper.interrupts = self.interrupts
        stepper.debug_state = self.unmodelled.debug_state
        stepper.hooks.changed = lambda address: self.memory.code_changes(address, 1)
        stepper.guest_call = lambda address: GuestCall(self, address)
        self._set_checks(stepper)
        return stepper

    def _set_checks(self, stepper: Stepper) -> None:
        checks = self.options.diagnostics
        if checks is None:
            return
        stepper.machine.checks = checks
        if not checks & ~Check.FREE and Check.FUSED not in checks:
            return
        stepper.checker = Checker(checks, self.state, self.diagnostics, self.stack)
        if Check.RED_ZONE in checks:
            stepper.machine.on_access = stepper.checker.on_access

    def _track_fsr(self) -> bool:
        if self.options.track_fsr is not None:
            return self.options.track_fsr
        return any("x" in s.perms and _READS_FSR.search(s.data) for s in self.image.segments)

    def _set_bounds(self) -> None:
        shadow = self.memory.shadow
        shadow.enable(self.options.check_init or Check.MEMORY in (self.options.diagnostics or Check.NONE))
        for segment in self.image.segments:
            shadow.allow(segment.address, segment.size, READ | INIT | (WRITE if "w" in segment.perms else 0))
        shadow.allow(self.stack.start, self.stack.size, READ | WRITE)

    def reset(self) -> None:
        """The processor as after a reset; memory keeps its contents."""
        state_tools.reset(self.state)
        self.state.read_pages = self.memory.read_pages_address
        self.state.write_pages = self.memory.write_pages_address
        self.state.shadow_pages = self.memory.shadow.pages_address
        self.state.PRID = PRIDS[self.core]
        self.interrupts.reset()
        base = self._vector_base()
        if base is not None:
            self.state.VECBASE = base >> 10

    def _vector_base(self) -> int | None:
        """Where the image's window handlers lie, by the names that start-up code uses for them."""
        for name in ("_vector_table", "_vectors", "_WindowOverflow4"):
            if name in self.image.symbols:
                return self.image.symbols.get(name).address
        return None

    # --- running -----------------------------------------------------------------------------------------
    def call(
        self,
        function: str | int,
        arguments: Sequence[Argument] = (),
        *,
        budget: int = DEFAULT_BUDGET,
        dirty: int | None = None,
    ) -> CallResult:
        """Call a function by symbol or address, as C code would with call8, and return its results.

        ``arguments``: see :mod:`emu.cpu.calls`. ``budget``: instructions after which the call is stopped.
        ``dirty``: seed of random contents for everything that a function may not rely on, None to leave what
        earlier calls left.

        Raises Trap when the code cannot go on or breaks the calling convention, SymbolError for an unknown
        function, ArgumentError for arguments that cannot be passed.
        """
        entered = self.begin(function, arguments, dirty=dirty)
        self.allow(budget)
        self.run()
        return self.finish(entered)

    def allow(self, budget: int) -> None:
        """Set the instructions that may be executed from now on; any number, also beyond 64 bits."""
        self.state.budget = max(0, min(budget, LONGEST))

    def begin(
        self, function: str | int, arguments: Sequence[Argument] = (), *, dirty: int | None = None
    ) -> Entered:
        """The machine at the first instruction of a call, for those who run it in their own way.

        The call is over when PC is RETURN_ADDRESS. ``function``, ``arguments``, ``dirty`` and what is raised:
        as for :meth:`call`.
        """
        address = self.image.symbols.function(function).address if isinstance(function, str) else function
        in_registers, on_stack = argument_words(arguments)
        if dirty is not None:
            state_tools.dirty(self.state, dirty)
        frame = self._enter(address, in_registers, on_stack)
        return Entered(address, frame, self.state.instructions)

    def finish(self, entered: Entered) -> CallResult:
        """Check the calling convention of a call that has returned; its results. Raises Trap."""
        returns.check(self.state, entered.frame, self.traps, entered.address)
        state = self.state
        a2, a3, a4, a5 = state.ar[10:14]  # the caller's a10..a13: its window is at 0 again
        executed = state.instructions - entered.instructions
        return CallResult(a2, a3, a4, a5, executed, self.diagnostics, self.locate)

    def _enter(self, address: int, in_registers: list[int], on_stack: list[int]) -> returns.Frame:
        """The machine as just after a call8 to ``address`` in a caller whose frame is the only one."""
        state, memory = self.state, self.memory
        state_tools.prepare_call(state)
        self._forget_run()
        state.shadow_pages = memory.shadow.pages_address
        pointer = (self.stack.end - CALLER_SPACE - 4 * len(on_stack)) & ~15
        if self.options.bounds:
            memory.shadow.allow(self.stack.start, self.stack.size, READ | WRITE)
        memory.write(pointer - 16, pack_words([0, self.stack.end, 0, 0, *on_stack]))
        state.set_a(0, 0)
        state.set_a(1, pointer)
        state.set_a(8, 2 << 30 | (RETURN_ADDRESS & 0x3FFFFFFF))
        for i, word in enumerate(in_registers):
            state.set_a(10 + i, word)
        state.PC = address & 0xFFFFFFFF
        if self.stepper.checker is not None:
            self.stepper.checker.begin(len(in_registers))
        self._check_entry(address)
        return returns.frame_of(state)

    def _check_entry(self, address: int) -> None:
        plan = self.stepper.plan_at(address & 0xFFFFFFFF)
        if plan is not None and not plan.is_entry:
            message = "this is no function of the windowed ABI: it does not begin with entry"
            raise self.traps.make(TrapKind.RETURN_MISMATCH, message, plan)

    def _forget_run(self) -> None:
        """A call begins: whatever an abandoned one waited for or stopped at is over."""
        self.stepper.begin()
        self.interrupts.is_waiting = False

    def run(self) -> None:
        """Run from PC to the return address of a call.

        Raises Trap (with kind BUDGET when ``state.budget`` is used up), and Stopped when a hook asks for it.
        """
        if self.advance() != ExitReason.RETURN:
            raise self.budget_trap()

    def advance(self) -> ExitReason:
        """Run from PC until the call returns (RETURN), the budget is used up (BUDGET), or the core waits for
        someone else (INTERRUPT; only while ``interrupts.is_patient``). Raises Trap, Stopped.
        """
        state, clock, stepper = self.state, self.interrupts, self.stepper
        tier = self._running_tier()
        stepper.is_stopped = False
        self.take_memory()
        clock.due = 0  # whoever had the machine in between may have changed any state
        while state.budget > 0 or state.PC == RETURN_ADDRESS:
            if state.instructions >= clock.due and state.PC != RETURN_ADDRESS and stepper.attend():
                if clock.is_waiting:
                    return ExitReason.INTERRUPT
                continue
            reason = self._slice(tier)
            if reason == ExitReason.RETURN:
                return reason
            if stepper.is_stopped:
                raise Stopped(self._here())
        return ExitReason.BUDGET

    def take_memory(self) -> None:
        """Faults and findings of the memory that cores share belong to this core from now on."""
        self.memory.unmodelled = self.unmodelled
        if self.stepper.checker is not None and self.options.notes_bounds:
            self.memory.shadow.report = self.stepper.checker.on_bounds

    def _slice(self, tier: Tier) -> ExitReason:
        """Run to the next moment at which an interrupt may be taken."""
        state, clock = self.state, self.interrupts
        clock.slice.open(min(clock.due - state.instructions, TURN))
        try:
            reason = tier.run()
            while reason not in (ExitReason.RETURN, ExitReason.BUDGET) and state.budget > 0:
                # Whatever the tier leaves (an instruction of its own, an exception, code it does not know)
                # the stepper does exactly, one instruction at a time.
                if reason != ExitReason.CODE_CHANGED and state.PC != RETURN_ADDRESS:
                    self.stepper.step()
                reason = tier.run()
            return reason
        finally:
            clock.slice.close()

    @property
    def tier(self) -> Tier:
        """What runs the code."""
        return self._running_tier()

    def _running_tier(self) -> Tier:
        if self._tier is None:
            is_stepped = self.options.tier == "stepper" or bool(self.options.diagnostics)
            self._tier = self.stepper if is_stepped else self._make_translator()
        return self._tier

    def contested(self) -> tuple[Use, ...]:
        """Contested facts that results depend on: noticed by the stepper since the diagnostics were cleared,
        and those that the code which is translated now may touch (:mod:`emu.cpu.contested`).
        """
        translated = self._tier.instructions() if isinstance(self._tier, Translating) else ()
        return uses(self.diagnostics.contested, translated, self.readings, self.locate)

    def _make_translator(self) -> Tier:
        from emu.cpu.translator import Translator

        # Until translated code checks the permission map itself, only the stepper may run under it.
        if self.options.bounds and not getattr(Translator, "CHECKS_BOUNDS", False):
            return self.stepper
        translator: Tier = Translator(self)
        return translator

    def budget_trap(self) -> Trap:
        """The trap of a run that has used up its budget."""
        plan = self.stepper.plan_at(self.state.PC)
        message = "the budget of instructions is used up (an endless loop, or a budget that is too small)"
        return self.traps.make(TrapKind.BUDGET, message, plan)

    def _service(self, name: str, values: tuple[int, ...]) -> int:
        handler = self.options.services.get(name)
        if handler is not None:
            return handler(self, values)
        if name == "waiti" and (self.interrupts.is_patient or self.interrupts.can_wake(values[0])):
            self.interrupts.is_waiting = True
            return 0
        if self.unmodelled.service(name, values):
            return 0
        message = _SERVICES.get(name, f"{name}: this part of the chip is not modelled")
        raise self.traps.make(TrapKind.SERVICE, message, self.stepper.current)

    def _make_trap(self, kind: TrapKind, message: str, address: int | None) -> Trap:
        return self.traps.make(kind, message, self.stepper.current, address)

    def _here(self) -> Location:
        return self.locate(self.state.PC)

    # --- hooks and interrupts -----------------------------------------------------------------------------
    @property
    def hooked(self) -> frozenset[int]:
        """Addresses with a hook: no translated code runs over one of them."""
        return frozenset(self.stepper.hooks)

    def hook(self, where: str | int, callback: Callback) -> Hook:
        """Call ``callback`` whenever the instruction at a symbol or address is about to be executed.

        At a function's first instruction it can read the arguments (:class:`emu.cpu.hooks.GuestCall`). When
        it gives STOP, the run ends there with Stopped. Raises SymbolError.
        """
        return self.stepper.hooks.add(self._address(where), callback)

    def serve(self, where: str | int, function: Served) -> Hook:
        """Let a host function take the place of a guest function of the windowed ABI.

        Its result (see :mod:`emu.cpu.calls`, up to 64 bits, or None) goes back to the caller. Raises
        SymbolError, HookError.
        """
        return self.stepper.hooks.add(self._address(where), function, is_served=True)

    def call_at(self, cycle: int, callback: Callable[[], object]) -> None:
        """Call the host at a moment of ``interrupts.cycles``, on both tiers in front of the same
        instruction; see :meth:`Interrupts.call_at`.
        """
        self.interrupts.call_at(cycle, callback)

    def raise_interrupt(self, number: int) -> None:
        """A device requests interrupt 0..31 of this core; see :meth:`Interrupts.raise_line`."""
        self.interrupts.raise_line(number)

    def lower_interrupt(self, number: int) -> None:
        """A device takes a level-triggered request back."""
        self.interrupts.lower_line(number)

    def _address(self, where: str | int) -> int:
        return self.image.symbols.get(where).address if isinstance(where, str) else where & 0xFFFFFFFF

    # --- looking around -------------------------------------------------------------------------------------
    def locate(self, address: int) -> Location:
        """Nearest symbol and source line of a guest address."""
        return self.image.locate(address)
