"""What the bytes of executable segments are: instructions, literals or data.

The assembler says so in the property tables of the image (sections ``.xt.prop``, ``.xt.lit``: literals, data
between code); where there are none, what control flow reaches from the functions is code, and what its l32r
instructions load is literals.
"""

from __future__ import annotations

import io
import struct
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Literal

from elftools.elf.elffile import ELFFile

from emu.image import Image
from emu.isa.decode import IllegalInstruction, Insn, decode

Kind = Literal["code", "literal", "data", "gap"]
"""A gap is what no table names: alignment, or code of an assembler that writes no tables."""

_LITERAL, _INSTRUCTIONS, _DATA = 1, 2, 4
_NO_SUCCESSOR = frozenset({"j", "jx", "ret", "ret.n", "retw", "retw.n", "rfe", "rfi", "rfwo", "rfwu", "rfde"})


@dataclass(frozen=True)
class Piece:
    """Bytes of one kind at ``start .. end - 1``."""

    start: int
    end: int
    kind: Kind


class CodeMap:
    """Kinds of the bytes of one image. ``has_tables``: the image's own tables say what they are."""

    def __init__(self, image: Image) -> None:
        self._image = image
        marks = list(_property_marks(image))
        self.has_tables = bool(marks)
        ranges = _without_overlaps(marks if marks else _reachable(image))
        self._starts = [piece.start for piece in ranges]
        self._ranges = ranges

    def pieces(self, start: int, end: int) -> Iterator[Piece]:
        """Cut a range where the kind of its bytes changes and at every symbol."""
        cuts = {start, end}
        for piece in self._ranges:
            cuts.update(a for a in (piece.start, piece.end) if start < a < end)
        cuts.update(s.address for s in self._image.symbols if start < s.address < end and not s.is_absolute)
        for low, high in pairwise(sorted(cuts)):
            yield Piece(low, high, self.kind(low))

    def kind(self, address: int) -> Kind:
        """Kind of one byte."""
        place = bisect_right(self._starts, address) - 1
        if place >= 0 and address < self._ranges[place].end:
            return self._ranges[place].kind
        return "gap"


@lru_cache(maxsize=4)
def code_map(image: Image) -> CodeMap:
    """The map of an image, made once."""
    return CodeMap(image)


def _property_marks(image: Image) -> Iterator[Piece]:
    """Entries of the property tables. A damaged table tells nothing: a listing is possible without it."""
    try:
        for section in ELFFile(io.BytesIO(image.data)).iter_sections():
            if section.name.startswith(".xt.prop"):
                yield from _properties(section.data())
            elif section.name.startswith(".xt.lit"):
                yield from _literal_table(section.data())
    except Exception:
        return


def _properties(data: bytes) -> Iterator[Piece]:
    for address, size, flags in struct.iter_unpack("<III", data[: len(data) // 12 * 12]):
        if size and flags & (_LITERAL | _DATA | _INSTRUCTIONS):
            kind: Kind = "literal" if flags & _LITERAL else "code" if flags & _INSTRUCTIONS else "data"
            yield Piece(address, address + size, kind)


def _literal_table(data: bytes) -> Iterator[Piece]:
    for address, size in struct.iter_unpack("<II", data[: len(data) // 8 * 8]):
        if size:
            yield Piece(address, address + size, "literal")


def _reachable(image: Image) -> Iterator[Piece]:
    """Instructions that control flow reaches from the first one of a function, and what their l32r load."""
    seen: set[int] = set()
    waiting = [function.address for function in image.symbols.functions()]
    while waiting:
        pc = waiting.pop()
        while pc not in seen:
            seen.add(pc)
            insn = _decode(image, pc)
            if insn is None:
                break
            yield Piece(pc, pc + insn.length, "code")
            label = next((insn.operands[o.name] for o in insn.row.operands if o.kind.cls == "label"), None)
            if label is not None and insn.mnemonic == "l32r":
                yield Piece(label, label + 4, "literal")
            elif label is not None:
                waiting.append(label)
            if insn.mnemonic in _NO_SUCCESSOR:
                break
            pc = insn.next_pc


def _decode(image: Image, pc: int) -> Insn | None:
    segment = image.segment_at(pc)
    if segment is None or "x" not in segment.perms:
        return None
    at = pc - segment.address
    try:
        return decode(segment.data[at : at + 4], pc)
    except IllegalInstruction:
        return None


def _without_overlaps(pieces: Iterable[Piece]) -> list[Piece]:
    """Sorted; of two entries that overlap the one that starts first keeps its bytes."""
    found: list[Piece] = []
    order: dict[Kind, int] = {"literal": 0, "data": 1, "code": 2, "gap": 3}
    for piece in sorted(set(pieces), key=lambda p: (p.start, order[p.kind], p.end)):
        start = max(piece.start, found[-1].end) if found else piece.start
        if start < piece.end:
            found.append(Piece(start, piece.end, piece.kind))
    return found
