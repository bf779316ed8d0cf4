"""Assembly sources as lines: labels, instructions with their operands, the function or macro around them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from emu.isa.table import Row, by_key

_LINE = re.compile(r"(?P<label>[.\w\\@]+:)?(?P<gap>\s*)(?P<name>[a-z][\w.]*)?(?P<space>[ \t]*)(?P<rest>.*)")
_DEFINE = re.compile(r"#define\s+(\w+)\s+([abfq]\d+|\d+)\b")


@dataclass(frozen=True)
class Operand:
    """One operand as written, at ``start`` (bytes from the start of the file)."""

    text: str
    start: int

    @property
    def end(self) -> int:
        """First byte behind it."""
        return self.start + len(self.text)


@dataclass(frozen=True)
class Line:
    """An instruction or a label of a file. ``start .. end - 1``: its bytes, without indent and comment.

    ``function``: the function around it, "" inside a macro. ``row`` is None for a label.
    """

    number: int
    start: int
    end: int
    function: str
    label: str
    mnemonic: str
    operands: tuple[Operand, ...]
    row: Row | None
    mnemonic_start: int


def read(source: bytes) -> Iterator[Line]:
    """Labels and machine instructions (no directives, no uses of macros), in order."""
    at, function, in_macro = 0, "", False
    for number, raw in enumerate(source.decode("latin-1").splitlines(keepends=True), 1):
        code = re.sub(r"/\*.*?(\*/|$)", lambda m: " " * len(m[0]), raw.rstrip("\n"))
        words = code.split()
        if words[:1] == [".macro"]:
            in_macro = True
        elif words[:1] == [".endm"]:
            in_macro = False
        elif words[:1] == ["function"] and not in_macro:
            function = words[1].rstrip(",")
        elif words[:1] == ["end_function"]:
            function = ""
        elif line := _parsed(number, at, code, function):
            yield line
        at += len(raw)


def _parsed(number: int, at: int, code: str, function: str) -> Line | None:
    found = _LINE.match(code)
    if found is None or code.startswith(("#", "*", " *")):
        return None
    label, name = found["label"] or "", found["name"] or ""
    row = by_key().get(name)
    if row is None:
        is_label = bool(label) and not name
        return Line(number, at, at + len(label), function, label[:-1], "", (), None, 0) if is_label else None
    operands, position = [], found.start("rest")
    for part in found["rest"].split(","):
        if part.strip():
            skip = len(part) - len(part.lstrip())
            operands.append(Operand(part.strip(), at + position + skip))
        position += len(part) + 1
    first = at + found.start("name")
    last = operands[-1].end if operands else first + len(name)
    return Line(number, first, last, function, label[:-1], name, tuple(operands), row, first)


def defines(source: bytes) -> dict[str, str]:
    """Names that the file gives to registers and numbers."""
    return dict(_DEFINE.findall(source.decode("latin-1")))
