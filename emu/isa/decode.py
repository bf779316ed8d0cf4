"""Decoding: instruction bytes to a row of the table and the values of its operands."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from emu.isa.fields import value_reader
from emu.isa.table import LENGTH_OF_NIBBLE, Row, rows

Bytes = bytes | bytearray | memoryview


class IllegalInstruction(Exception):
    """Bytes that are no instruction. `pc` is their address, `data` the bytes that were looked at."""

    def __init__(self, pc: int, data: bytes) -> None:
        text = data.hex(" ") or "no bytes left"
        super().__init__(f"illegal instruction at {pc:#010x}: {text}")
        self.pc = pc
        self.data = data


@dataclass(frozen=True, slots=True)
class Insn:
    """One decoded instruction.

    `operands` maps every operand name of the row, written or implicit, to its value: the register number
    (the first one of a group), the immediate, or for labels the absolute target address (also for l32r's
    literal). `word` is the little-endian integer of the bytes.
    """

    row: Row
    pc: int
    length: int
    word: int
    operands: dict[str, int]

    @property
    def mnemonic(self) -> str:
        """The row's mnemonic."""
        return self.row.mnemonic

    @property
    def next_pc(self) -> int:
        """Address of the instruction behind this one."""
        return self.pc + self.length & 0xFFFFFFFF


def decode(data: Bytes, pc: int) -> Insn:
    """Decode the instruction at the start of `data`, which is at address `pc`; later bytes are ignored.

    Raises:
        IllegalInstruction: no row matches, or `data` ends inside the instruction.
    """
    length = LENGTH_OF_NIBBLE[data[0] & 15] if len(data) else 1
    word = int.from_bytes(data[:length], "little")
    row = find_row(word, length) if len(data) >= length else None
    if row is None:
        raise IllegalInstruction(pc, bytes(data[:length]))
    readers = _readers(row.index)
    return Insn(row, pc, length, word, {name: read(word, pc) for name, read in readers})


def decode_all(data: Bytes, pc: int) -> Iterator[Insn]:
    """Decode straight through `data`; raises IllegalInstruction at the first bytes that are none."""
    at = 0
    view = memoryview(data)
    while at < len(view):
        insn = decode(view[at:], pc + at & 0xFFFFFFFF)
        yield insn
        at += insn.length


def find_row(word: int, length: int) -> Row | None:
    """The row that an instruction word of `length` bytes belongs to, or None if the word is illegal."""
    node: _Node | Row | None = _tree()[length]
    while isinstance(node, _Node):
        node = node.branches.get(word & node.mask, node.default)
    return node if node is not None and word & node.mask == node.match else None


@cache
def _readers(index: int) -> tuple[tuple[str, Callable[[int, int], int]], ...]:
    row = rows()[index]
    return tuple((operand.name, value_reader(operand.kind)) for operand in row.operands + row.implicit)


@dataclass(frozen=True, slots=True)
class _Node:
    """Look `word & mask` up in `branches`; a word that is not there goes on at `default`."""

    mask: int
    branches: dict[int, _Node | Row]
    default: _Node | Row | None


@cache
def _tree() -> dict[int, _Node | Row | None]:
    return {length: _grow([row for row in rows() if row.length == length], 0) for length in (2, 3, 4)}


def _grow(group: Sequence[Row], seen: int) -> _Node | Row | None:
    """Split a group by bits that all its rows fix; where there are none, by those of its most specific row.

    A row that leaves some of the chosen bits open goes to every branch that it fits, and to the default.
    Rows are disjoint, so a row whose bits have all been looked at is alone in its group.
    """
    if len(group) <= 1:
        return group[0] if group else None
    mask = ~seen
    for row in group:
        mask &= row.mask
    mask = mask or max((row.mask & ~seen for row in group), key=int.bit_count)
    closed = [row for row in group if row.mask & mask == mask]
    opened = [row for row in group if row.mask & mask != mask]
    branches: dict[int, _Node | Row] = {}
    for bits in {row.match & mask for row in closed}:
        part = [row for row in group if not (row.match ^ bits) & row.mask & mask]
        if node := _grow(part, seen | mask):
            branches[bits] = node
    return _Node(mask, branches, _grow(opened, seen))
