"""Mutations of assembly: each rule looks at one instruction (or label) and gives other texts for it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from emu.isa.table import Row, rows
from emu.mutate.asm_source import Line, Operand, defines, read
from emu.mutate.mutant import Mutant
from emu.mutate.neighbours import commutes, independent_text, variants

_REGISTER = re.compile(r"([abfq])(\d+)")
_COUNTS = {"a": 16, "b": 16, "f": 16, "q": 8}


class AssemblyFile:
    """The mutants of one assembly file."""

    def __init__(self, file: str, source: bytes) -> None:
        self._file = file
        self._source = source
        self._names = defines(source)
        self._lines = list(read(source))

    def mutants(self) -> Iterator[Mutant]:
        """Every mutant of the file."""
        for place, line in enumerate(self._lines):
            if line.row is None:
                yield from self._moved_label(place, line)
                continue
            yield from self._registers(line)
            yield from self._immediates(line)
            yield from self._variants(line)
            yield from self._removed(line)
            yield from self._swapped(place, line)

    def _mutant(self, rule: str, line: Line, start: int, end: int, new: str, what: str) -> Mutant:
        return Mutant(
            "assembly", rule, self._file, line.function, line.number, line.number, start, end, new, what
        )

    def _text(self, start: int, end: int) -> str:
        return self._source[start:end].decode("latin-1")

    def _whole(self, line: Line, operand: Operand, new: str) -> str:
        old = self._text(line.start, line.end)
        at = operand.start - line.start
        return _said(old, old[:at] + new + old[at + len(operand.text) :])

    def _registers(self, line: Line) -> Iterator[Mutant]:
        """The next register of the same file; two operands of one kind exchanged."""
        for operand in line.operands:
            if new := self._next_register(operand.text):
                what = self._whole(line, operand, new)
                yield self._mutant("register", line, operand.start, operand.end, new, what)
        yield from self._exchanged(line)

    def _next_register(self, name: str) -> str:
        found = _REGISTER.fullmatch(self._names.get(name, name))
        if found is None or found[0] == "a1":
            return ""
        number = (int(found[2]) + 1) % _COUNTS[found[1]]
        return f"{found[1]}{number if (found[1], number) not in (('a', 0), ('a', 1)) else 2}"

    def _exchanged(self, line: Line) -> Iterator[Mutant]:
        kinds = [self._kind(o.text) for o in line.operands]
        for i, a in enumerate(line.operands):
            for j in range(i + 1, len(line.operands)):
                b = line.operands[j]
                if kinds[i] and kinds[i] == kinds[j] and a.text != b.text and not commutes(line.row, i, j):
                    new = b.text + self._text(a.end, b.start) + a.text
                    old = self._text(line.start, line.end)
                    after = old[: a.start - line.start] + new + old[b.end - line.start :]
                    yield self._mutant("exchange", line, a.start, b.end, new, _said(old, after))

    def _kind(self, name: str) -> str:
        found = _REGISTER.fullmatch(self._names.get(name, name))
        return found[1] if found else ""

    def _immediates(self, line: Line) -> Iterator[Mutant]:
        """One step more and one less, of the size of step that the instruction has."""
        assert line.row is not None
        for operand, described in zip(line.operands, line.row.operands, strict=False):
            value = self._names.get(operand.text, operand.text)
            if described.kind.cls != "imm" or not re.fullmatch(r"-?(0[xX][0-9a-fA-F]+|\d+)", value):
                continue
            step = max(described.kind.step, 1)
            for other in (int(value, 0) + step, int(value, 0) - step):
                new = f"{other:#x}" if "x" in value.lower() else str(other)
                if described.kind.field(other) is not None or line.mnemonic == "movi":
                    what = self._whole(line, operand, new)
                    yield self._mutant("immediate", line, operand.start, operand.end, new, what)

    def _variants(self, line: Line) -> Iterator[Mutant]:
        """Another lane width, signedness, saturation, condition or operation with the same operands."""
        assert line.row is not None
        for row in variants(line.row, rows()):
            old = self._text(line.start, line.end)
            end = line.mnemonic_start + len(line.mnemonic)
            new = row.mnemonic
            yield self._mutant(
                "variant", line, line.mnemonic_start, end, new, _said(old, new + old[len(line.mnemonic) :])
            )

    def _removed(self, line: Line) -> Iterator[Mutant]:
        if line.mnemonic != "entry":
            old = self._text(line.start, line.end)
            yield self._mutant(
                "removal", line, line.start, line.end, "", f"{' '.join(old.split())} -> nothing"
            )

    def _swapped(self, place: int, line: Line) -> Iterator[Mutant]:
        """With the next instruction, when the two depend on each other."""
        if place + 1 == len(self._lines):
            return
        after = self._lines[place + 1]
        if (
            line.row is None
            or after.row is None
            or after.label
            or after.number != line.number + 1
            or _is_flow(line.row, after.row)
        ):
            return
        if independent_text(line.row, self._values(line), after.row, self._values(after)):
            return
        first, second = self._text(line.start, line.end), self._text(after.start, after.end)
        new = second + self._text(line.end, after.start) + first
        what = f"{' '.join(first.split())} <-> {' '.join(second.split())}"
        mutant = self._mutant("order", line, line.start, after.end, new, what)
        yield replace(mutant, last_line=after.number)

    def _values(self, line: Line) -> list[str]:
        return [self._names.get(o.text, o.text) for o in line.operands]

    def _moved_label(self, place: int, line: Line) -> Iterator[Mutant]:
        """The end of a loop one instruction earlier or later."""
        if not _is_loop_end(line.label, self._lines):
            return
        text = self._text(line.start, line.end)
        before = self._lines[place - 1] if place else None
        after = self._lines[place + 1] if place + 1 < len(self._lines) else None
        if before is not None and before.row is not None and before.number == line.number - 1:
            new = f"{text} {self._text(before.start, line.start)}"
            what = f"loop end {text} one instruction earlier"
            mutant = self._mutant("loop end", line, before.start, line.end, new, what)
            yield replace(mutant, line=before.number)
        if after is not None and after.row is not None and after.number == line.number + 1:
            new = self._text(line.end, after.end) + f"; {text}"
            what = f"loop end {text} one instruction later"
            mutant = self._mutant("loop end", line, line.start, after.end, new, what)
            yield replace(mutant, last_line=after.number)


def _said(before: str, after: str) -> str:
    return f"{' '.join(before.split())} -> {' '.join(after.split())}"


def _is_flow(*pair: Row | None) -> bool:
    return any(row is not None and row.flow for row in pair)


def _is_loop_end(label: str, lines: Sequence[Line]) -> bool:
    return any(
        line.mnemonic.startswith("loop") and line.operands and line.operands[-1].text == label
        for line in lines
    )


def mutants(file: str, source: bytes) -> Iterator[Mutant]:
    """Every mutant of one assembly file."""
    return AssemblyFile(file, source).mutants()
