"""The function that a source line belongs to, inlined or not."""

from __future__ import annotations

import io
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Any

from elftools.elf.elffile import ELFFile

from emu.image import Image, Location


def function_of(image: Image, place: Location) -> str:
    """Name of the function whose source holds the line of ``place``; the symbol where DWARF does not say.

    An inlined function has no symbol at the address, but its lines have.
    """
    if not place.file:
        return place.symbol
    try:
        table = _functions(image)
    except Exception:  # a damaged file makes the parser raise anything; then the symbol has to do
        return place.symbol
    starts = [(line, name) for file, line, name in table if _same(file, place.file) and line <= place.line]
    return max(starts)[1] if starts else place.symbol


def _same(a: str, b: str) -> bool:
    return PurePosixPath(a).name == PurePosixPath(b).name and (a.endswith(b) or b.endswith(a))


@lru_cache(maxsize=4)
def _functions(image: Image) -> tuple[tuple[str, int, str], ...]:
    """(file, line, name) of every function that the debug information declares."""
    elf = ELFFile(io.BytesIO(image.data))
    if not elf.has_dwarf_info():
        return ()
    dwarf = elf.get_dwarf_info()
    found = []
    for unit in dwarf.iter_CUs():
        program = dwarf.line_program_for_CU(unit)
        for die in unit.iter_DIEs():
            entry = _entry(die, program)
            if entry is not None:
                found.append(entry)
    return tuple(found)


def _entry(die: Any, program: Any) -> tuple[str, int, str] | None:
    if die.tag != "DW_TAG_subprogram" or "DW_AT_declaration" in die.attributes:
        return None
    attributes = die.attributes
    if not {"DW_AT_name", "DW_AT_decl_line", "DW_AT_decl_file"} <= attributes.keys() or program is None:
        return None
    from emu.image.lines import _file_name

    name = attributes["DW_AT_name"].value.decode("utf-8", "replace")
    return (
        _file_name(program.header, attributes["DW_AT_decl_file"].value),
        attributes["DW_AT_decl_line"].value,
        name,
    )
