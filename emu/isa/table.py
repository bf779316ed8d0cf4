"""The instruction table: rows and operand kinds, loaded from `data/*.csv`.

Bits are numbered in the little-endian integer of the instruction's bytes; the low nibble of the first
byte fixes the length (`LENGTH_OF_NIBBLE`). The columns are described in `data/README.md`.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import resources
from types import MappingProxyType

from emu.isa.operand import REGISTER_CLASSES, Operand, OperandKind

__all__ = [
    "LENGTH_OF_NIBBLE",
    "REGISTER_CLASSES",
    "Operand",
    "OperandKind",
    "Row",
    "StateUse",
    "by_key",
    "kinds",
    "read_csv",
    "rows",
]

LENGTH_OF_NIBBLE: tuple[int, ...] = (3,) * 8 + (2,) * 6 + (4,) * 2
"""Instruction length in bytes for each value of the low nibble of the first byte."""


@dataclass(frozen=True)
class StateUse:
    """A processor state, or with `is_interface` an external signal, that a row reads or writes."""

    name: str
    role: str
    is_interface: bool


@dataclass(frozen=True)
class Row:
    """One instruction: a word w of `length` bytes is this one iff ``w & mask == match``.

    `operands` are those of the assembler text, in its order; `implicit` are fixed registers and ignored
    fields that the text does not show. `flow` is '', branch, jump, loop or call. `index` is the place in
    the table.
    """

    index: int
    mnemonic: str
    group: str
    length: int
    match: int
    mask: int
    operands: tuple[Operand, ...]
    implicit: tuple[Operand, ...]
    states: tuple[StateUse, ...]
    flow: str

    @property
    def key(self) -> str:
        """Name that is unique in the table: the mnemonic, with the length where two rows share it."""
        return f"{self.mnemonic}/4" if self.mnemonic == "nop" and self.length == 4 else self.mnemonic

    @cached_property
    def ignored(self) -> int:
        """Bits that neither select the row nor belong to a written operand; the chip ignores them."""
        named = self.mask
        for operand in self.operands:
            named |= operand.kind.mask
        return ((1 << 8 * self.length) - 1) & ~named

    def operand(self, name: str) -> Operand:
        """The operand called `name`, written or implicit; KeyError if there is none."""
        for operand in self.operands + self.implicit:
            if operand.name == name:
                return operand
        raise KeyError(f"instruction {self.mnemonic} has no operand {name!r}")


def read_csv(name: str) -> list[dict[str, str]]:
    """Rows of one of the package's tables, as dicts of text."""
    text = resources.files("emu.isa").joinpath("data", name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


@cache
def kinds() -> Mapping[str, OperandKind]:
    """All operand kinds by name."""
    return MappingProxyType({line["kind"]: _kind(line) for line in read_csv("operands.csv")})


@cache
def rows() -> tuple[Row, ...]:
    """All instructions, in table order."""
    lines = read_csv("instructions.csv")
    return tuple(_row(index, line) for index, line in enumerate(lines))


@cache
def by_key() -> Mapping[str, Row]:
    """Rows by `Row.key`."""
    return MappingProxyType({row.key: row for row in rows()})


def _kind(line: Mapping[str, str]) -> OperandKind:
    def number(column: str) -> int:
        return int(line[column] or 0)

    return OperandKind(
        name=line["kind"],
        cls=line["class"],
        lens=_ints(line["lens"]),
        bits=_ints(line["bits"]),
        width=number("width"),
        wrap=number("wrap"),
        scale=number("scale"),
        offset=number("offset"),
        table=_ints(line["table"]),
        pcbase=line["pcbase"],
        min=number("min"),
        max=number("max"),
        step=number("step"),
        regs=number("regs"),
    )


def _ints(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split())


def _row(index: int, line: Mapping[str, str]) -> Row:
    return Row(
        index=index,
        mnemonic=line["mnemonic"],
        group=line["group"],
        length=int(line["len"]),
        match=int(line["match"], 0),
        mask=int(line["mask"], 0),
        operands=_operands(line["operands"]),
        implicit=_operands(line["implicit"]),
        states=tuple(_state(part) for part in line["states"].split()),
        flow=line["flow"],
    )


def _operands(text: str) -> tuple[Operand, ...]:
    return tuple(_operand(part) for part in text.split())


def _operand(text: str) -> Operand:
    name, rest = text.split(":", 1)
    kind, role = rest.rsplit(":", 1)
    return Operand(name, kinds()[kind], role)


def _state(text: str) -> StateUse:
    name, role = text.rsplit(":", 1)
    return StateUse(name.removeprefix("@"), role, name.startswith("@"))
