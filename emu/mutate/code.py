"""The code of an image in a form that does not depend on where the linker put things."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from emu.debug.listing import Range, entries
from emu.debug.sections import code_map
from emu.image import Image, Symbol
from emu.isa.decode import Insn

Token = tuple[object, ...]


@dataclass(frozen=True)
class Function:
    """``tokens``: one per instruction, registers and immediates as numbers, places as symbol and offset.

    ``refers``: the functions that it calls or names.
    """

    name: str
    addresses: tuple[int, ...]
    tokens: tuple[Token, ...]
    refers: frozenset[str] = field(default=frozenset())


def instructions(image: Image, function: Symbol) -> Iterator[Insn]:
    """The instructions of a function, in order of address."""
    segment = image.segment_at(function.address)
    if segment is None or not function.size:
        return
    for entry in entries(image, Range(function.address, function.end, segment), code_map(image)):
        if entry.insn is not None:
            yield entry.insn


def functions(image: Image, only: Collection[str] | None = None) -> dict[str, Function]:
    """Every sized function of an image by name, or those called ``only``."""
    wanted = (f for f in image.symbols.functions() if f.size and (only is None or f.name in only))
    return {f.name: _function(image, f) for f in wanted}


def _function(image: Image, symbol: Symbol) -> Function:
    tokens, addresses = [], []
    refers: set[str] = set()
    for insn in instructions(image, symbol):
        tokens.append(_token(image, symbol, insn, refers))
        addresses.append(insn.pc)
    return Function(symbol.name, tuple(addresses), tuple(tokens), frozenset(refers))


def _token(image: Image, function: Symbol, insn: Insn, refers: set[str]) -> Token:
    values: list[object] = [insn.mnemonic]
    for operand in insn.row.operands:
        value = insn.operands[operand.name]
        if operand.kind.cls != "label":
            values.append(value)
        elif insn.mnemonic == "l32r":
            word = _word(image, value)
            values.append(_place(image, word, refers) or word)
        elif function.address <= value <= function.end:
            values.append(("here", value - insn.pc))
        else:
            values.append(_place(image, value, refers) or value)
    return tuple(values)


def _word(image: Image, address: int) -> int:
    segment = image.segment_at(address)
    if segment is None:
        return 0
    at = address - segment.address
    return int.from_bytes(segment.data[at : at + 4], "little")


def _place(image: Image, address: int, refers: set[str]) -> Token | None:
    """What an address names; None for a plain number. Addresses of nameless data only count as such."""
    segment = image.segment_at(address)
    if segment is None:
        return None
    symbol = image.symbols.at(address)
    if symbol is None or image.segment_at(symbol.address) is not segment:
        return ("data",)
    if symbol.kind == "function":
        refers.add(symbol.name)
    return ("place", symbol.name, address - symbol.address)


def reached(code: dict[str, Function], start: str) -> dict[str, int]:
    """Functions that a call of ``start`` may reach, each with its distance in calls."""
    distance = {start: 0}
    front = [start]
    while front:
        name = front.pop(0)
        for other in sorted(code[name].refers if name in code else ()):
            if other not in distance:
                distance[other] = distance[name] + 1
                front.append(other)
    return distance


def changed(before: dict[str, Function], after: dict[str, Function]) -> set[str]:
    """Functions whose instructions are not the same in two images, or that only one of them has."""
    names = before.keys() | after.keys()
    return {n for n in names if n not in before or n not in after or before[n].tokens != after[n].tokens}


def differing(
    before: dict[str, Function], after: dict[str, Function], names: set[str]
) -> tuple[set[int], set[int]]:
    """Addresses of the instructions of functions ``names`` that only one of two images has, in each.

    Where only the end of a loop has moved: the loop, its first instruction, and those at both ends.
    """
    left: set[int] = set()
    right: set[int] = set()
    for name in names & before.keys() & after.keys():
        a, b = before[name], after[name]
        steps = difflib.SequenceMatcher(None, _loose(a), _loose(b), False).get_opcodes()
        for kind, i1, i2, j1, j2 in steps:
            if kind != "equal":
                left.update(a.addresses[i1:i2])
                right.update(b.addresses[j1:j2])
        if len(steps) == 1:
            moved = [i for i, pair in enumerate(zip(a.tokens, b.tokens, strict=True)) if pair[0] != pair[1]]
            left.update(address for i in moved for f in (a, b) for address in _around_loop(f, i))
            right.update(left)
    return left, right


def _around_loop(function: Function, place: int) -> Iterator[int]:
    """The instruction number ``place``, the next one, and the one that its target names."""
    address = function.addresses[place]
    yield from function.addresses[place : place + 2]
    for value in function.tokens[place]:
        if isinstance(value, tuple) and value[0] == "here":
            yield address + value[1]


def _loose(function: Function) -> list[Token]:
    """Without the lengths of jumps inside of the function, which move with every other change."""
    return [tuple(v for v in t if not (isinstance(v, tuple) and v[0] == "here")) for t in function.tokens]
