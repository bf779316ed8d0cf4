"""The listing around an instruction, with source lines."""

from __future__ import annotations

from pathlib import Path

from emu.debug.listing import Range
from emu.debug.listing_text import text_lines
from emu.image import Image
from emu.report.document import CodeLine

_BEFORE, _AFTER, _WHOLE = 14, 10, 80


def code_around(image: Image, address: int, root: Path | None = None) -> tuple[CodeLine, ...]:
    """Some lines before and after the instruction at ``address``; empty where the image has no code there.

    The first instruction of a function stands for the whole of it and is not marked. ``root``: folder of the
    sources, for their text.
    """
    segment = image.segment_at(address)
    symbol = image.symbols.at(address)
    if segment is None or "x" not in segment.perms:
        return ()
    if symbol is not None and symbol.address <= address < symbol.end:
        span = Range(symbol.address, symbol.end, segment)
    else:
        span = Range(address, min(address + 64, segment.end), segment)
    wanted = address if address != span.start else -1
    lines = [_line(text, wanted) for text in text_lines(image, [span], True, root)]
    marked = next((i for i, line in enumerate(lines) if line.marked), None)
    if marked is None:
        return tuple(lines[:_WHOLE])
    return tuple(lines[max(0, marked - _BEFORE) : marked + _AFTER + 1])


def _line(text: str, address: int) -> CodeLine:
    return CodeLine(text.expandtabs(12), text.startswith(f"{address:08x}:\t"), text.startswith(";"))
