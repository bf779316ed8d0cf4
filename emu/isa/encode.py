"""Encoding: a row of the table and operand values to instruction bytes."""

from __future__ import annotations

from collections.abc import Mapping

from emu.isa.table import Operand, Row, by_key


class OperandError(ValueError):
    """A value that no field of the instruction can hold, or an operand that is missing or unknown."""


def encode_word(row: Row, values: Mapping[str, int], pc: int = 0) -> int:
    """Instruction word of `row` with the operand `values` (as in `Insn.operands`) at address `pc`.

    Implicit operands may be left out: fixed registers are what they are, ignored fields become 0.

    Raises:
        OperandError: an operand is missing, unknown, out of range or not a multiple of its step.
    """
    unknown = set(values) - {operand.name for operand in row.operands + row.implicit}
    if unknown:
        raise OperandError(f"{row.mnemonic} has no operand {', '.join(sorted(unknown))}")
    word = row.match
    for operand in row.operands:
        if operand.name not in values:
            raise OperandError(f"{row.mnemonic}: operand {operand.name} is missing")
        word |= _bits(row, operand, values[operand.name], pc)
    for operand in row.implicit:
        if operand.name in values:
            word |= _bits(row, operand, values[operand.name], pc)
    return word


def encode(row: Row, values: Mapping[str, int], pc: int = 0) -> bytes:
    """Like `encode_word`, as the bytes that lie in memory."""
    return encode_word(row, values, pc).to_bytes(row.length, "little")


def assemble_one(mnemonic: str, *values: int, pc: int = 0) -> bytes:
    """Bytes of one instruction, operand values in assembler order; label values are absolute addresses.

    Raises:
        OperandError: no such mnemonic, another number of operands, or a value that does not fit.
    """
    row = by_key().get(mnemonic)
    if row is None:
        raise OperandError(f"no instruction is called {mnemonic!r}")
    if len(values) != len(row.operands):
        raise OperandError(f"{mnemonic} has {len(row.operands)} operands, not {len(values)}")
    return encode(row, {operand.name: value for operand, value in zip(row.operands, values, strict=True)}, pc)


def _bits(row: Row, operand: Operand, value: int, pc: int) -> int:
    kind = operand.kind
    distance = value
    if kind.cls == "label":
        distance = (value - kind.base(pc) + 0x80000000 & 0xFFFFFFFF) - 0x80000000
    field = kind.field(distance)
    if field is None:
        step = f" in steps of {kind.step}" if kind.step > 1 else ""
        what = "distance" if kind.cls == "label" else "value"
        allowed = f"one of {list(kind.table)}" if kind.table else f"{kind.min} .. {kind.max}{step}"
        raise OperandError(f"{row.mnemonic}: {what} {distance} of operand {operand.name} is not {allowed}")
    return kind.insert(field)
