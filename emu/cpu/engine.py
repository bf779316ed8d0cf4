"""The engine: an image in memory, a processor, and calls of its functions from Python."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from emu.cpu import returns, state_tools
from emu.cpu.calls import Argument, CallResult, argument_words, pack_words
from emu.cpu.diagnostics import Diagnostics
from emu.cpu.loader import Span, build_memory
from emu.cpu.options import EngineOptions
from emu.cpu.readings import choose
from emu.cpu.shadow import INIT, READ, WRITE
from emu.cpu.state import ExitReason, new_state
from emu.cpu.stepper import Stepper
from emu.cpu.trapping import TrapMaker
from emu.cpu.traps import Location, Trap, TrapKind
from emu.image import Image

RETURN_ADDRESS = 0x4FFFFFF0
"""Where functions return to: no memory is mapped there, and its top two bits are those of code addresses."""

DEFAULT_BUDGET = 1_000_000_000
CALLER_SPACE = 64
"""Bytes between the caller's stack arguments and the end of the stack: room for its own save area."""

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


class Engine:
    """One processor with one image. Not thread-safe; several engines are independent.

    ``memory``: the guest's address space; ``state``: the processor; ``arena``: free guest memory (PSRAM) for
    buffers; ``stack``: the guest's stack; ``diagnostics``: what was noticed since it was last cleared.
    """

    def __init__(self, image: Image, options: EngineOptions | None = None) -> None:
        """Raises ImageError when the image leaves no room for a stack."""
        self.image = image
        self.options = options or EngineOptions()
        self.memory, placement = build_memory(image, self.options)
        self.stack: Span = placement.stack
        self.arena: Span = placement.arena
        self.state = new_state()
        self.diagnostics = Diagnostics()
        self.readings = choose(self.options.readings)
        self.traps = TrapMaker(self.state, self.memory, self.locate, RETURN_ADDRESS)
        self.track_fsr = self._track_fsr()
        self.stepper = self._make_stepper()
        self._tier: Tier | None = None
        if self.options.bounds:
            self._set_bounds()
        self.reset()

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
        return stepper

    def _track_fsr(self) -> bool:
        if self.options.track_fsr is not None:
            return self.options.track_fsr
        return any("x" in s.perms and _READS_FSR.search(s.data) for s in self.image.segments)

    def _set_bounds(self) -> None:
        shadow = self.memory.shadow
        shadow.enable(self.options.check_init)
        for segment in self.image.segments:
            shadow.allow(segment.address, segment.size, READ | INIT | (WRITE if "w" in segment.perms else 0))
        shadow.allow(self.stack.start, self.stack.size, READ | WRITE)

    def reset(self) -> None:
        """The processor as after a reset; memory keeps its contents."""
        state_tools.reset(self.state)
        self.state.read_pages = self.memory.read_pages_address
        self.state.write_pages = self.memory.write_pages_address
        self.state.shadow_pages = self.memory.shadow.pages_address
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
        self.state.budget = budget
        self.run()
        return self.finish(entered)

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
        return CallResult(a2, a3, a4, a5, executed, self.diagnostics)

    def _enter(self, address: int, in_registers: list[int], on_stack: list[int]) -> returns.Frame:
        """The machine as just after a call8 to ``address`` in a caller whose frame is the only one."""
        state, memory = self.state, self.memory
        state_tools.prepare_call(state)
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
        self._check_entry(address)
        return returns.frame_of(state)

    def _check_entry(self, address: int) -> None:
        plan = self.stepper.plan_at(address & 0xFFFFFFFF)
        if plan is not None and not plan.is_entry:
            message = "this is no function of the windowed ABI: it does not begin with entry"
            raise self.traps.make(TrapKind.RETURN_MISMATCH, message, plan)

    def run(self) -> None:
        """Run from PC to the return address of a call. Raises Trap."""
        tier = self._running_tier()
        while True:
            reason = tier.run()
            if reason == ExitReason.RETURN:
                return
            if reason == ExitReason.BUDGET or self.state.budget <= 0:
                raise self._budget_trap()
            # Whatever the tier leaves (an instruction of its own, an exception, code it does not know)
            # the stepper does exactly, one instruction at a time.
            if reason != ExitReason.CODE_CHANGED and self.state.PC != RETURN_ADDRESS:
                self.stepper.step()

    def _running_tier(self) -> Tier:
        if self._tier is None:
            self._tier = self.stepper if self.options.tier == "stepper" else self._make_translator()
        return self._tier

    def _make_translator(self) -> Tier:
        from emu.cpu.translator import Translator

        # Until translated code checks the permission map itself, only the stepper may run under it.
        if self.options.bounds and not getattr(Translator, "CHECKS_BOUNDS", False):
            return self.stepper
        translator: Tier = Translator(self)
        return translator

    def _budget_trap(self) -> Trap:
        plan = self.stepper.plan_at(self.state.PC)
        message = "the budget of instructions is used up (an endless loop, or a budget that is too small)"
        return self.traps.make(TrapKind.BUDGET, message, plan)

    def _service(self, name: str, values: tuple[int, ...]) -> int:
        handler = self.options.services.get(name)
        if handler is not None:
            return handler(self, values)
        message = _SERVICES.get(name, f"{name}: this part of the chip is not modelled")
        raise self.traps.make(TrapKind.SERVICE, message, self.stepper.current)

    # --- looking around -------------------------------------------------------------------------------------
    def locate(self, address: int) -> Location:
        """Nearest symbol and source line of a guest address."""
        return self.image.locate(address)
