"""A trap: the guest did something that ends the run, told for people."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from emu.image.location import Location

__all__ = ["Location", "Trap", "TrapContext", "TrapKind"]


class TrapKind(Enum):
    """What went wrong; the value is the short text of reports."""

    ILLEGAL = "illegal instruction"
    UNIMPLEMENTED = "unimplemented instruction"
    NOT_CODE = "jump to non-code"
    UNMAPPED_LOAD = "load from unmapped memory"
    UNMAPPED_STORE = "store to unmapped memory"
    PROTECTION = "protected memory"
    MISALIGNED = "misaligned access"
    DIVIDE_BY_ZERO = "divide by zero"
    COPROCESSOR = "coprocessor disabled"
    BUDGET = "instruction budget used up"
    RETURN_MISMATCH = "calling convention broken"
    BOUNDS_READ = "read outside of the buffers"
    BOUNDS_WRITE = "write outside of the buffers"
    UNINITIALISED = "read of memory that was never written"
    BREAK = "breakpoint instruction"
    SERVICE = "service of the system"
    DEVICE = "part of the chip that is not modelled"
    DEADLOCK = "deadlock"
    INTERRUPT = "interrupt"
    EXCEPTION = "exception"
    ABORT = "abort"


@dataclass(frozen=True)
class TrapContext:
    """The machine at the trap: instruction bytes and text as far as there is one, registers by name."""

    data: bytes = b""
    text: str = ""
    registers: dict[str, int] = field(default_factory=dict)
    instructions: int = 0
    """Instructions executed before the one that trapped."""
    backtrace: tuple[Location, ...] = ()
    """Return addresses, innermost first."""


class Trap(Exception):
    """The code under test cannot go on. ``str(trap)`` is one or a few lines for people.

    ``kind``, ``pc``, ``where`` (symbol and line of pc), ``message`` (what happened, without the place),
    ``address`` (the first byte that was refused, or where a jump went, if any), ``context``.
    """

    def __init__(
        self,
        kind: TrapKind,
        where: Location,
        message: str,
        context: TrapContext,
        address: int | None = None,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.pc = where.address
        self.where = where
        self.message = message
        self.context = context
        self.address = address

    def __str__(self) -> str:
        lines = [f"{self.message}, at {self.where}"]
        if self.context.text:
            lines.append(f"  instruction: {self.context.data.hex(' ')}  {self.context.text}")
        lines += [f"  called from {caller}" for caller in self.context.backtrace[:4]]
        return "\n".join(lines)

    def registers_text(self) -> str:
        """Registers as lines of four, for long reports."""
        items = [f"{name:>4} {value:08x}" for name, value in self.context.registers.items()]
        return "\n".join("  ".join(items[i : i + 4]) for i in range(0, len(items), 4))
