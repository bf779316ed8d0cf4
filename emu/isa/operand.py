"""Operands of the instruction table: where their bits are and which values they stand for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

REGISTER_CLASSES: Mapping[str, str] = MappingProxyType(
    {"ar": "a", "fr": "f", "qr": "q", "br": "b", "mr": "m"}
)
"""Operand class to the letter that the assembler writes before the register number."""


@dataclass(frozen=True)
class OperandKind:
    """How one kind of operand is stored: `bits` (LSB first) hold a field, the field gives a value.

    `cls` is one of ar, fr, qr, br, mr (the value is a register number, `regs` consecutive ones), imm, or
    label (the value is the distance from the base `pcbase`, one of pc, pc&~3, (pc+3)&~3).
    """

    name: str
    cls: str
    lens: tuple[int, ...]
    bits: tuple[int, ...]
    width: int
    wrap: int
    scale: int
    offset: int
    table: tuple[int, ...]
    pcbase: str
    min: int
    max: int
    step: int
    regs: int

    @property
    def is_register(self) -> bool:
        """True for register operands of any file."""
        return self.cls in REGISTER_CLASSES

    @cached_property
    def field_of_value(self) -> Mapping[int, int]:
        """Value to field for kinds that are given by a table of values."""
        return {value: field for field, value in enumerate(self.table)}

    @cached_property
    def mask(self) -> int:
        """The instruction bits that belong to this operand."""
        return sum(1 << bit for bit in self.bits)

    @property
    def mask_of_field(self) -> int:
        """2**width - 1."""
        return (1 << self.width) - 1

    def values(self) -> Iterator[int]:
        """Every value that can be encoded, in order of the field."""
        return (self.value(field) for field in range(1 << self.width))

    def value(self, field: int) -> int:
        """Value of a field 0 .. 2**width - 1."""
        if self.table:
            return self.table[field]
        return self.scale * (((field + self.wrap) & self.mask_of_field) - self.wrap) + self.offset

    def field(self, value: int) -> int | None:
        """Field that holds `value`, or None when no field does."""
        if self.table:
            return self.field_of_value.get(value)
        if not self.scale:
            return 0 if value == self.offset else None
        index, rest = divmod(value - self.offset, self.scale)
        if rest or not -self.wrap <= index < (1 << self.width) - self.wrap:
            return None
        return index & self.mask_of_field

    def extract(self, word: int) -> int:
        """Field bits of an instruction word."""
        return sum((word >> bit & 1) << place for place, bit in enumerate(self.bits))

    def insert(self, field: int) -> int:
        """Instruction bits of a field."""
        return sum((field >> place & 1) << bit for place, bit in enumerate(self.bits))

    def base(self, pc: int) -> int:
        """Address from which a label of this kind is counted, for an instruction at `pc`."""
        if self.pcbase == "pc":
            return pc
        return (pc + 3 if self.pcbase.startswith("(") else pc) & ~3


@dataclass(frozen=True)
class Operand:
    """One operand of a row; `role` is in, out or inout."""

    name: str
    kind: OperandKind
    role: str

    @property
    def is_read(self) -> bool:
        """True when the instruction uses the operand's value."""
        return self.role != "out"

    @property
    def is_written(self) -> bool:
        """True when the instruction changes the register that the operand names."""
        return self.role != "in"
