"""Functions of an image and the places behind their calls, found by decoding every function."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from emu.debug.sections import code_map
from emu.image import Image
from emu.isa.decode import IllegalInstruction, Insn, decode


@dataclass(frozen=True)
class Function:
    """A function of the image: addresses from ``start`` up to, not including, ``end``."""

    name: str
    start: int
    end: int


class Code:
    """All functions of an image, and its instructions by address."""

    def __init__(self, image: Image) -> None:
        self.image = image
        self.functions = _functions(image)
        self._starts = [f.start for f in self.functions]

    def at(self, address: int) -> Function | None:
        """The function that an address is in."""
        place = bisect_right(self._starts, address) - 1
        found = self.functions[place] if place >= 0 else None
        return found if found is not None and address < found.end else None

    @cached_property
    def instructions(self) -> dict[int, Insn]:
        """Every instruction of every function, by its address."""
        return {insn.pc: insn for function in self.functions for insn in self._decoded(function)}

    @cached_property
    def returns(self) -> list[int]:
        """Addresses behind calls, where a function goes on when the called one returns."""
        calls = (i for i in self.instructions.values() if i.mnemonic.startswith(("call", "callx")))
        return sorted({insn.next_pc for insn in calls})

    def before(self, pc: int, count: int) -> list[Insn]:
        """Up to ``count`` instructions in front of an address within its function, the nearest one first."""
        found: list[Insn] = []
        while len(found) < count and (previous := self._previous.get(pc)) is not None:
            found.append(previous)
            pc = previous.pc
        return found

    @cached_property
    def _previous(self) -> dict[int, Insn]:
        return {insn.next_pc: insn for insn in self.instructions.values()}

    def _decoded(self, function: Function) -> Iterator[Insn]:
        segment = self.image.segment_at(function.start)
        if segment is None or "x" not in segment.perms:
            return
        for piece in code_map(self.image).pieces(function.start, function.end):
            data = segment.data[piece.start - segment.address : piece.end - segment.address]
            if piece.kind == "code" or (piece.kind == "gap" and any(data)):
                yield from _straight(data, piece.start)


def _straight(data: bytes, start: int) -> Iterator[Insn]:
    """Instructions of bytes that are code, alignment between them left out."""
    at = 0
    while at < len(data):
        try:
            insn = decode(data[at : at + 4], start + at)
        except IllegalInstruction:
            at += 1
            continue
        yield insn
        at += insn.length


def _functions(image: Image) -> list[Function]:
    """Sorted by address; of several names at one address the one that messages use."""
    sizes: dict[int, int] = {}
    for symbol in image.symbols:
        if symbol.kind == "function" and symbol.size:
            sizes[symbol.address] = max(sizes.get(symbol.address, 0), symbol.size)
    places = sorted(sizes)
    ends = {a: min(a + sizes[a], b) for a, b in zip(places, [*places[1:], 1 << 32], strict=True)}
    return [Function(str(image.locate(a).symbol or hex(a)), a, ends[a]) for a in places]
