"""Listings as text in the manner of objdump, with source lines, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from emu.debug.listing import Entry, Range, entries
from emu.debug.names import symbol_text, target_text
from emu.debug.sections import CodeMap, code_map
from emu.image import Image
from emu.isa.disasm import text


def text_lines(
    image: Image, spans: list[Range], source: bool = False, root: Path | None = None
) -> Iterator[str]:
    """The listing as lines. ``source``: the source line before each instruction that begins one; its text is
    looked up below ``root`` (default: the current folder)."""
    kinds = code_map(image)
    for number, span in enumerate(spans):
        if number:
            yield ""
        yield from _range_lines(image, span, kinds, _Sources(image, root) if source else None)


def _range_lines(image: Image, span: Range, code_map: CodeMap, sources: _Sources | None) -> Iterator[str]:
    names = _labels(image, span)
    if span.start not in names:
        name = symbol_text(image, span.start)
        yield f"{span.start:08x} <{name or span.segment.name}>:"
    for entry in entries(image, span, code_map):
        for name in names.get(entry.address, ()):
            if entry.address != span.start:
                yield ""
            yield f"{entry.address:08x} <{name}>:"
        if sources is not None and entry.insn is not None:
            yield from sources.before(entry.address)
        yield entry_text(image, entry)


def _labels(image: Image, span: Range) -> dict[int, list[str]]:
    """Names at each address; linker values and section symbols are not labels."""
    found: dict[int, list[str]] = {}
    for symbol in image.symbols:
        if span.start <= symbol.address < span.end and not symbol.is_absolute:
            found.setdefault(symbol.address, []).append(symbol.name)
    return found


def entry_text(image: Image, entry: Entry) -> str:
    """One row: address, bytes as objdump groups them, instruction, what is known of its literal."""
    if entry.insn is None:
        return _data_text(image, entry)
    word = f"{entry.insn.word:0{2 * entry.insn.length}x}"
    line = f"{entry.address:08x}:\t{word:<8}\t{text(entry.insn, lambda a: target_text(image, a))}"
    if entry.literal is not None:
        line += f"\t; {_value_text(image, entry.value)}"
    return line


def _data_text(image: Image, entry: Entry) -> str:
    if entry.value is not None:
        return f"{entry.address:08x}:\t{entry.value:08x}\t.word\t{_value_text(image, entry.value)}"
    if not any(entry.data):
        return f"{entry.address:08x}:\t{'':<8}\t.zero\t{len(entry.data)}"
    items = ", ".join(f"{byte:#04x}" for byte in entry.data)
    return f"{entry.address:08x}:\t{'':<8}\t.byte\t{items}"


def _value_text(image: Image, value: int | None) -> str:
    if value is None:
        return "not stored in the image"
    name = symbol_text(image, value)
    return f"{value:#010x}" + (f" <{name}>" if name else "")


class _Sources:
    """Source lines in the order of the code: each line is named when it differs from the one before."""

    def __init__(self, image: Image, root: Path | None) -> None:
        self._lines = image.lines
        self._root = root or Path()
        self._last: tuple[str, int] | None = None
        self._warned = False

    def before(self, address: int) -> Iterator[str]:
        place = self._lines.at(address)
        if self._lines.warning and not self._warned:
            self._warned = True
            yield f"; {self._lines.warning}"
        if place is None or place == self._last:
            return
        self._last = place
        file, line = place
        content = _file_lines(self._root / file)
        code = content[line - 1].strip() if 0 < line <= len(content) else ""
        yield f"; {file}:{line}" + (f"\t{code}" if code else "")


@lru_cache(maxsize=64)
def _file_lines(path: Path) -> tuple[str, ...]:
    try:
        return tuple(path.read_text(encoding="utf-8", errors="replace").splitlines())
    except OSError:
        return ()


def json_objects(image: Image, spans: list[Range]) -> Iterator[dict[str, Any]]:
    """One object for each row of the listing; addresses and values are numbers."""
    kinds = code_map(image)
    for span in spans:
        for entry in entries(image, span, kinds):
            yield _json_object(image, entry)


def _json_object(image: Image, entry: Entry) -> dict[str, Any]:
    place = image.locate(entry.address)
    found: dict[str, Any] = {
        "address": entry.address,
        "bytes": entry.data.hex(),
        "symbol": place.symbol,
        "offset": place.offset,
        "file": place.file,
        "line": place.line,
    }
    if entry.insn is None:
        found["kind"] = "data" if entry.value is None else "literal"
    else:
        insn = entry.insn
        found["kind"] = "instruction"
        found["mnemonic"] = insn.mnemonic
        found["text"] = text(insn).replace("\t", " ")
        found["operands"] = {o.name: insn.operands[o.name] for o in insn.row.operands}
    for name in ("target", "literal", "value"):
        number = getattr(entry, name)
        if number is not None:
            found[name] = number
            found[f"{name}_symbol"] = symbol_text(image, number)
    return found
