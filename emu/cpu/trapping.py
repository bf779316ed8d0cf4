"""Making traps: from causes, memory faults and bad code to one message that says what, where and why."""

from __future__ import annotations

import struct
from collections.abc import Callable

from emu.cpu.machine import Cause
from emu.cpu.memory import Memory, MemoryFault
from emu.cpu.plan import Plan, text_of
from emu.cpu.state import CpuState
from emu.cpu.traps import Location, Trap, TrapContext, TrapKind

MASK32 = 0xFFFFFFFF
_NO_ROM = "the code in the chip's ROM is no part of the image; link a definition of the function into it"
BACKTRACE_DEPTH = 16

_CAUSES = {
    Cause.ILLEGAL_INSTRUCTION: (TrapKind.ILLEGAL, "an instruction that is illegal in this state"),
    Cause.SYSCALL: (TrapKind.SERVICE, "syscall: there is no operating system here"),
    Cause.ALLOCA: (
        TrapKind.RETURN_MISMATCH,
        "movsp without a caller's frame: a0 holds no windowed return address",
    ),
    Cause.INTEGER_DIVIDE_BY_ZERO: (TrapKind.DIVIDE_BY_ZERO, "integer division by zero"),
    Cause.COPROCESSOR0_DISABLED: (
        TrapKind.COPROCESSOR,
        "floating-point instruction while coprocessor 0 is disabled (CPENABLE bit 0)",
    ),
    Cause.COPROCESSOR3_DISABLED: (
        TrapKind.COPROCESSOR,
        "PIE instruction while coprocessor 3 is disabled (CPENABLE bit 3)",
    ),
    Cause.DEBUG_BREAK: (TrapKind.BREAK, "breakpoint instruction"),
    Cause.LOAD_STORE_ALIGNMENT: (TrapKind.MISALIGNED, "misaligned access"),
}

_FAULTS = {
    ("unmapped", "load"): TrapKind.UNMAPPED_LOAD,
    ("unmapped", "store"): TrapKind.UNMAPPED_STORE,
    ("device", "load"): TrapKind.DEVICE,
    ("device", "store"): TrapKind.DEVICE,
    ("read", "load"): TrapKind.BOUNDS_READ,
    ("write", "store"): TrapKind.BOUNDS_WRITE,
    ("uninitialised", "load"): TrapKind.UNINITIALISED,
}


class TrapMaker:
    """Builds traps for one processor. ``locate`` names an address."""

    def __init__(
        self,
        state: CpuState,
        memory: Memory,
        locate: Callable[[int], Location] = Location,
        return_address: int = 0xFFFFFFFF,
    ) -> None:
        self.state = state
        self.memory = memory
        self.locate = locate
        self.return_address = return_address
        self.explain_rom: Callable[[int], str] | None = None
        """Says what function of the ROM an address is and what to do, when someone knows."""

    def make(
        self,
        kind: TrapKind,
        message: str,
        plan: Plan | None = None,
        address: int | None = None,
        data: bytes = b"",
    ) -> Trap:
        """A trap at PC with everything that is known there."""
        return Trap(kind, self.locate(self.state.PC), message, self._context(plan, data), address)

    def from_cause(self, cause: Cause, vaddr: int, plan: Plan | None) -> Trap:
        """An exception of an instruction that nothing handles."""
        fallback = (TrapKind.EXCEPTION, f"exception {cause.name} (cause {int(cause)})")
        kind, message = _CAUSES.get(cause, fallback)
        return self.make(kind, message, plan, vaddr or None)

    def from_fault(self, fault: MemoryFault, plan: Plan | None, doing: str = "") -> Trap:
        """A refused access; ``doing``: what for, when not the instruction itself."""
        kind = _FAULTS.get((fault.kind, fault.access), TrapKind.PROTECTION)
        while_ = f", while {doing}" if doing else ""
        return self.make(kind, fault.sentence() + while_, plan, fault.byte)

    def interrupt(self, level: int, number: int) -> Trap:
        """An interrupt that would be taken while exceptions have no handlers."""
        message = (
            f"interrupt {number} (level {level}) is taken here, but exceptions are built-in: "
            'no handler runs; use exceptions="vectors"'
        )
        return self.make(TrapKind.INTERRUPT, message)

    def not_code(self, pc: int, fault: MemoryFault) -> Trap:
        """PC is at an address from which nothing is executed."""
        name = self.locate(pc).symbol
        where = f"{pc:#010x} ({fault.where}{': ' + name if name else ''})"
        if fault.where == "ROM" and self.explain_rom is not None:
            return self.make(TrapKind.NOT_CODE, self.explain_rom(pc), address=pc)
        why = _NO_ROM if fault.where == "ROM" else "no code can run there"
        return self.make(TrapKind.NOT_CODE, f"jump to {where}: {why}", address=pc)

    def illegal(self, pc: int, data: bytes) -> Trap:
        """Bytes that are no instruction."""
        message = f"the bytes {data.hex(' ')} are no instruction of the ESP32-S3"
        return self.make(TrapKind.ILLEGAL, message, address=pc, data=data)

    def _context(self, plan: Plan | None, data: bytes) -> TrapContext:
        state = self.state
        text = text_of(plan, self._label).replace("\t", " ") if plan else ""
        return TrapContext(
            plan.data if plan else data, text, registers(state), state.instructions, tuple(self.backtrace())
        )

    def _label(self, address: int) -> str:
        place = self.locate(address)
        if not place.symbol:
            return f"{address:#010x}"
        return place.symbol + (f"+{place.offset:#x}" if place.offset else "")

    def _pending_call(self) -> list[Location]:
        """The call that led to a PC where nothing can run: no entry has moved the window yet."""
        step = 0 if self.return_address == self.state.PC else self.state.PSCALLINC
        link = self.state.get_a(4 * step)
        try:
            self.memory.fetch(self.state.PC, 1)
        except MemoryFault:
            is_call = step and link >> 30 == step and _code_address(link) != self.return_address
            return [self.locate((_code_address(link) - 3) & MASK32)] if is_call else []
        return []

    def backtrace(self) -> list[Location]:
        """Call sites of the frames above the current one, innermost first, as far as they can be followed."""
        state, found = self.state, self._pending_call()
        base, a0, a1 = state.WindowBase, state.get_a(0), state.get_a(1)
        in_registers = True
        while len(found) < BACKTRACE_DEPTH:
            target = _code_address(a0)
            step = a0 >> 30
            if not step or target in (0, self.return_address):
                break
            found.append(self.locate((target - 3) & MASK32))
            base = (base - step) & 15
            in_registers = in_registers and bool(state.WindowStart >> base & 1)
            if in_registers:
                a0, a1 = state.ar[4 * base], state.ar[4 * base + 1]
                continue
            try:
                # A look of the host: the stack pointer may be anything, also a device's address.
                a0, a1 = struct.unpack("<2I", self.memory.read((a1 - 16) & MASK32, 8))
            except MemoryFault:
                break
        return found


def _code_address(link: int) -> int:
    """The address that a windowed return address stands for: all code of the chip has 01 in bits 31..30."""
    return 0x40000000 | (link & 0x3FFFFFFF)


def registers(state: CpuState) -> dict[str, int]:
    """The registers that a reader of a trap wants, by name."""
    found = {f"a{i}": state.get_a(i) for i in range(16)}
    found["pc"] = state.PC
    for name in ("SAR", "LBEG", "LEND", "LCOUNT", "WindowBase", "WindowStart", "PSEXCM", "CPENABLE", "br"):
        found[name.lower()] = getattr(state, name)
    return found
