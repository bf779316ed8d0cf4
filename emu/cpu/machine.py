"""The abstract machine that instruction semantics act on (see docs/architecture.md, "Semantics once").

:class:`Machine` and :class:`Operands` collect an instruction's writes and apply them when its function has
returned. The concrete machines (stepper, translator) implement the ``_read_*``, ``_write_*`` and control
primitives.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from enum import IntEnum
from types import MappingProxyType
from typing import Any, ClassVar, cast

from emu.cpu.values import Bits, Operand


class Cause(IntEnum):
    """EXCCAUSE values (Xtensa ISA manual, exception causes); >= 64: pseudo causes of window exceptions."""

    ILLEGAL_INSTRUCTION = 0
    SYSCALL = 1
    INSTRUCTION_FETCH_ERROR = 2
    LOAD_STORE_ERROR = 3
    LEVEL1_INTERRUPT = 4
    ALLOCA = 5
    INTEGER_DIVIDE_BY_ZERO = 6
    PRIVILEGED = 8
    LOAD_STORE_ALIGNMENT = 9
    FETCH_PROHIBITED = 20
    LOAD_PROHIBITED = 28
    STORE_PROHIBITED = 29
    COPROCESSOR0_DISABLED = 32
    COPROCESSOR3_DISABLED = 35
    WINDOW_OVERFLOW4 = 64
    WINDOW_UNDERFLOW4 = 65
    WINDOW_OVERFLOW8 = 66
    WINDOW_UNDERFLOW8 = 67
    WINDOW_OVERFLOW12 = 68
    WINDOW_UNDERFLOW12 = 69
    DEBUG_BREAK = 70


class Machine(ABC):
    """One instruction's view of the processor. Upper-case attributes (also Window*) are states by name."""

    pc: Bits
    next_pc: Bits
    track_fsr: bool
    """Python-time constant: compute the sticky flags of FSR (off when the image never reads them)."""
    fused: bool
    """Python-time constant: madd.s/msub.s round once (True, the chip) or twice (diagnosis)."""
    watch: bool = True
    """Python-time constant: evaluate all readings of a contested fact to see whether they differ here."""
    blocks: ClassVar[Mapping[str, Callable[..., Any]]] = MappingProxyType({})
    """Equal replacements of named steps of the semantics (emu.isa.semantics.registry), by name."""

    @abstractmethod
    def const(self, width: int, value: int) -> Bits:
        """A constant scalar."""

    @abstractmethod
    def read_state(self, name: str) -> Bits:
        """The state ``name`` of registers.csv at its own width, as it was before the instruction."""

    @abstractmethod
    def write_state(self, name: str, value: Bits) -> None:
        """Deferred write of a state; ``value.width`` must equal the state's width."""

    def __getattr__(self, name: str) -> Bits:
        if name[:1].isupper():
            return self.read_state(name)
        raise AttributeError(name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name[:1].isupper():
            self.write_state(name, cast(Bits, value))
        else:
            object.__setattr__(self, name, value)

    # --- memory -----------------------------------------------------------------------------------
    @abstractmethod
    def load(self, bits: int, address: Bits) -> Bits:
        """Little-endian load of 8..128 bits at any alignment, as a scalar of ``bits``."""

    @abstractmethod
    def store(self, bits: int, address: Bits, value: Bits) -> None:
        """Little-endian store; takes effect at once, after every check of the instruction."""

    def vload(self, bits: int, address: Bits) -> Bits:
        """PIE load: the low bits of the address are forced to 0 (a diagnostic when they were not)."""
        self.note_misaligned(bits, address)
        return self.load(bits, address & -(bits // 8))

    def vstore(self, bits: int, address: Bits, value: Bits) -> None:
        """PIE store: the low bits of the address are forced to 0 (a diagnostic when they were not)."""
        self.note_misaligned(bits, address)
        self.store(bits, address & -(bits // 8), value)

    # --- register windows ---------------------------------------------------------------------------
    @abstractmethod
    def read_ar(self, window_base: Bits, index: int) -> Bits:
        """Register a<index> of the window that starts at ``window_base`` (4 bits)."""

    @abstractmethod
    def write_ar(self, window_base: Bits, index: int, value: Bits) -> None:
        """Deferred write of a<index> of another window."""

    # --- control --------------------------------------------------------------------------------------
    @abstractmethod
    def branch(self, condition: Bits, target: Bits) -> None:
        """Go to ``target`` if ``condition`` (1 bit), else fall through."""

    @abstractmethod
    def jump(self, target: Bits) -> None:
        """Go to ``target``."""

    @abstractmethod
    def raise_if(self, condition: Bits, cause: Cause, vaddr: Bits | None = None) -> None:
        """Leave the instruction with an exception before any of its writes."""

    def raise_always(self, cause: Cause, vaddr: Bits | None = None) -> None:
        """Leave the instruction with an exception."""
        self.raise_if(self.const(1, 1), cause, vaddr)

    @abstractmethod
    def service(self, name: str, *values: Operand) -> Bits:
        """An effect that belongs to the engine (waiti, simcall, TLB, ...); returns 32 bits (0 if none)."""

    @abstractmethod
    def need_nearest_even(self) -> None:
        """The translator leaves to the stepper here unless FCR.RoundMode is 0; the stepper ignores it."""

    # --- choices and diagnostics ------------------------------------------------------------------------
    @abstractmethod
    def reading(self, name: str) -> str:
        """The chosen reading of a contested fact (emu.cpu.readings); a Python-time constant."""

    @abstractmethod
    def touch_contested(self, name: str, condition: Bits | None = None) -> None:
        """Record that this instruction depends on a contested fact (when ``condition`` holds)."""

    @abstractmethod
    def note_misaligned(self, bits: int, address: Bits) -> None:
        """Diagnostic: a vector access whose low address bits are dropped."""

    @abstractmethod
    def note_saturation(self, exact: Bits, clamped: Bits) -> None:
        """Diagnostic: a clamp changed a value (same shapes)."""


class Operands(ABC):
    """The operands of one decoded instruction; see docs/architecture.md."""

    @abstractmethod
    def index(self, name: str) -> int:
        """Register number, immediate or target address as a Python int."""

    @abstractmethod
    def read(self, name: str) -> Bits:
        """Value of a register operand before the instruction; immediates and labels as 32-bit constants."""

    @abstractmethod
    def write(self, name: str, value: Bits) -> None:
        """Deferred write of a register operand; ``value.width`` must equal the register's width."""

    def __getattr__(self, name: str) -> Bits:
        if name.startswith("_"):
            raise AttributeError(name)
        return self.read(name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_"):
            object.__setattr__(self, name, value)
        else:
            self.write(name, cast(Bits, value))
