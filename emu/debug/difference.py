"""The first difference between two engines, for programs and for people."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from emu.cpu.engine import Engine
from emu.cpu.trapping import registers
from emu.debug.listing import Range, entries
from emu.debug.listing_text import entry_text
from emu.debug.names import symbol_text, value_text
from emu.debug.record import Step
from emu.debug.sections import code_map
from emu.debug.step_text import bits_of, text_line
from emu.image import Image, Location

_AROUND = 4


class Kind(Enum):
    """What differs."""

    EFFECT = "effect of an instruction"
    FLOW = "next instruction"
    TRAP = "trap"
    BYTES = "bytes of a buffer or of named data"
    RESULT = "returned value"


@dataclass(frozen=True)
class Side:
    """One engine at the difference. ``where``: of the instruction; ``context``: disassembly around it.

    ``registers``: after it; ``step``: what it did, as far as that was recorded.
    """

    name: str
    where: Location
    registers: dict[str, int]
    context: tuple[str, ...] = ()
    step: Step | None = None
    trap: str = ""


@dataclass(frozen=True)
class Value:
    """One thing that differs: a register, a state, or memory (then ``address`` is its place in ``a``)."""

    name: str
    a: int
    b: int
    bits: int
    address: int | None = None

    def __str__(self) -> str:
        place = f" at {self.address:#010x}" if self.address is not None else ""
        left, right = value_text(self.a, self.bits), value_text(self.b, self.bits)
        return f"{self.name}{place}: {left} in a, {right} in b"


@dataclass(frozen=True)
class Difference:
    """Where two engines part. ``number``: instructions that a executed before it.

    ``notes``: how it was found, and what a reader has to know to judge it.
    """

    kind: Kind
    number: int
    a: Side
    b: Side
    values: tuple[Value, ...] = ()
    notes: tuple[str, ...] = field(default=())

    def __str__(self) -> str:
        return "\n".join(text_lines(self))


def text_lines(found: Difference) -> Iterator[str]:
    """A difference as lines for people."""
    yield f"first difference after {found.number:,} instructions: {found.kind.value}"
    for value in found.values[:16]:
        yield f"  {value}"
    if len(found.values) > 16:
        yield f"  and {len(found.values) - 16} more"
    for note in found.notes:
        yield f"  ({note})"
    for letter, side in (("a", found.a), ("b", found.b)):
        yield f"{letter}: {side.name}, at {side.where}"
        if side.trap:
            yield f"   {side.trap}"
        yield from (f"   {line}" for line in side.context)
    yield from _states(found)


def _states(found: Difference) -> Iterator[str]:
    """Registers of both sides next to each other, those that differ marked."""
    names = [name for name in found.a.registers if name in found.b.registers]
    if names:
        yield "registers after it, in a and in b:"
    cells = []
    for name in names:
        a, b = found.a.registers[name], found.b.registers[name]
        cells.append(f"{name:>11} {a:08x} {b:08x} {'*' if a != b else ' '}")
    for at in range(0, len(cells), 3):
        yield "  " + "  ".join(cells[at : at + 3]).rstrip()


def json_object(found: Difference) -> dict[str, Any]:
    """A difference as a JSON object; values are hex strings."""
    return {
        "kind": found.kind.name.lower(),
        "number": found.number,
        "values": [
            {"name": v.name, "a": hex(v.a), "b": hex(v.b), "bits": v.bits}
            | ({"address": hex(v.address)} if v.address is not None else {})
            for v in found.values
        ],
        "notes": list(found.notes),
        "a": _side_object(found.a),
        "b": _side_object(found.b),
    }


def _side_object(side: Side) -> dict[str, Any]:
    return {
        "engine": side.name,
        "pc": hex(side.where.address),
        "symbol": side.where.symbol,
        "offset": side.where.offset,
        "file": side.where.file,
        "line": side.where.line,
        "trap": side.trap,
        "registers": {name: hex(value) for name, value in side.registers.items()},
        "context": list(side.context),
    }


def side_of(engine: Engine, pc: int, step: Step | None = None, trap: object = "") -> Side:
    """One engine's side, at the instruction at ``pc``."""
    place = engine.locate(pc)
    lines = around(engine.image, pc)
    if step is not None:
        lines.append(
            text_line(step, engine.image, lambda address: symbol_text(engine.image, address)).strip()
        )
    name = f"{engine.options.tier} on {engine.image.name}"
    return Side(name, place, registers(engine.state), tuple(lines), step, str(trap) if trap else "")


def around(image: Image, pc: int) -> list[str]:
    """Disassembly around an instruction, which is marked."""
    segment = image.segment_at(pc)
    if segment is None or not image.is_code(pc):
        return [f"=> {pc:08x}: not in the image"]
    symbol = image.symbols.at(pc)
    start = symbol.address if symbol is not None and symbol.address >= segment.address else pc
    end = min(segment.end, max(pc + 64, start + 1))
    found = list(entries(image, Range(start, end, segment), code_map(image)))
    place = next((i for i, e in enumerate(found) if e.address == pc), None)
    if place is None:
        found, place = list(entries(image, Range(pc, end, segment), code_map(image))), 0
    rows = found[max(0, place - _AROUND) : place + _AROUND + 1]
    return [f"{'=>' if row.address == pc else '  '} {entry_text(image, row).expandtabs(12)}" for row in rows]


def register_values(a: dict[str, int], b: dict[str, int]) -> tuple[Value, ...]:
    """Registers and states by name that differ."""
    return tuple(Value(n, a[n], b[n], bits_of(n)) for n in a if n in b and a[n] != b[n])
