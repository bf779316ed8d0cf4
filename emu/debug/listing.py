"""Disassembly of an image: instructions, literals and data of its executable segments, as objects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from emu.debug.arguments import parse_address
from emu.debug.errors import DebugInputError
from emu.debug.sections import CodeMap, Piece
from emu.image import Image, Segment
from emu.isa.decode import IllegalInstruction, Insn, decode

_DATA_ROW = 8


@dataclass(frozen=True)
class Entry:
    """One row of a listing.

    ``insn`` is None for literals and data. ``target``: of a branch, jump, call or loop. ``literal``: address
    of the word that an l32r loads; ``value``: that word, or the literal itself; None when unknown.
    """

    address: int
    data: bytes
    insn: Insn | None = None
    target: int | None = None
    literal: int | None = None
    value: int | None = None


@dataclass(frozen=True)
class Range:
    """Guest addresses ``start .. end - 1`` of one segment."""

    start: int
    end: int
    segment: Segment


def select(image: Image, texts: Sequence[str]) -> list[Range]:
    """Ranges for ``SYMBOL``, ``ADDR``, ``ADDR..ADDR``, ``SYMBOL..SYMBOL``; for none all executable segments.

    Raises DebugInputError for what is not code of the image.
    """
    if not texts:
        return [
            Range(s.address, s.address + len(s.data), s) for s in image.segments if "x" in s.perms and s.data
        ]
    return [_select(image, text) for text in texts]


def _select(image: Image, text: str) -> Range:
    first, dots, last = text.partition("..")
    start = parse_address(first, image)
    segment = image.segment_at(start)
    if segment is None or "x" not in segment.perms:
        raise DebugInputError(f"{text}: {start:#010x} is not in an executable segment of {image.name}")
    limit = segment.address + len(segment.data)
    end = parse_address(last, image) if dots else _end_of(image, start, limit)
    if end <= start:
        raise DebugInputError(f"{text}: the end {end:#010x} does not lie behind the start {start:#010x}")
    return Range(start, min(end, limit), segment)


def _end_of(image: Image, start: int, limit: int) -> int:
    """End of the symbol around ``start``; where its size is unknown, the start of the next one."""
    symbol = image.symbols.at(start)
    if symbol is not None and start < symbol.end:
        return symbol.end
    later = [s.address for s in image.symbols if start < s.address < limit and not s.is_absolute]
    return min(later, default=limit)


def entries(image: Image, span: Range, code_map: CodeMap) -> Iterator[Entry]:
    """The rows of one range, in order; they cover every byte of it exactly once."""
    for piece in code_map.pieces(span.start, span.end):
        at = piece.start - span.segment.address
        data = span.segment.data[at : at + piece.end - piece.start]
        if piece.kind == "code" or (piece.kind == "gap" and any(data)):
            yield from _instructions(image, piece, data)
        elif piece.kind == "literal":
            yield from _words(piece, data)
        else:
            yield from _rows(piece.start, data)


def _instructions(image: Image, piece: Piece, data: bytes) -> Iterator[Entry]:
    at = 0
    while at < len(data):
        try:
            insn = decode(data[at : at + 4], piece.start + at)
        except IllegalInstruction:
            yield Entry(piece.start + at, data[at : at + 1])
            at += 1
            continue
        yield _entry(image, insn, data[at : at + insn.length])
        at += insn.length


def _entry(image: Image, insn: Insn, data: bytes) -> Entry:
    label = next((insn.operands[o.name] for o in insn.row.operands if o.kind.cls == "label"), None)
    if insn.mnemonic == "l32r" and label is not None:
        return Entry(insn.pc, data, insn, literal=label, value=word_at(image, label))
    return Entry(insn.pc, data, insn, target=label)


def _words(piece: Piece, data: bytes) -> Iterator[Entry]:
    lead = -piece.start & 3
    yield from _rows(piece.start, data[:lead])
    for at in range(lead, len(data), 4):
        part = data[at : at + 4]
        value = int.from_bytes(part, "little") if len(part) == 4 else None
        yield Entry(piece.start + at, part, value=value)


def _rows(start: int, data: bytes) -> Iterator[Entry]:
    if data and not any(data):
        yield Entry(start, data)
        return
    for at in range(0, len(data), _DATA_ROW):
        yield Entry(start + at, data[at : at + _DATA_ROW])


def word_at(image: Image, address: int) -> int | None:
    """The little-endian word that the image stores at an address, None outside of what it stores."""
    segment = image.segment_at(address)
    if segment is None:
        return None
    at = address - segment.address
    data = segment.data[at : at + 4]
    return int.from_bytes(data, "little") if len(data) == 4 else None
