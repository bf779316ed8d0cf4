"""The function that a source line belongs to, inlined or not."""

from __future__ import annotations

import io
from collections.abc import Iterator
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Any

from elftools.elf.elffile import ELFFile

from emu.bisect.instruction import FirstWrong
from emu.image import Image, Location
from emu.image.lines import _file_name as file_name
from emu.isa.decode import IllegalInstruction, decode


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
    name = attributes["DW_AT_name"].value.decode("utf-8", "replace")
    return (
        file_name(program.header, attributes["DW_AT_decl_file"].value),
        attributes["DW_AT_decl_line"].value,
        name,
    )


def origin_of(good: Image | None, bad: Image, place: Location) -> str:
    """The function whose change shows at ``place``: an inlined one whose own code is not as in the good
    image, else :func:`function_of`.
    """
    if good is not None and place.symbol in good.symbols:
        try:
            inlined = _inlined_into(bad, place.symbol)
        except Exception:  # a damaged file makes the parser raise anything; then the line has to do
            inlined = ()
        changed = [name for name in inlined if _has_changed(good, bad, name)]
        if len(changed) == 1:
            return changed[0]
    return function_of(bad, place)


def _inlined_into(image: Image, symbol: str) -> tuple[str, ...]:
    """Names of the functions that the compiler put into a function."""
    elf = ELFFile(io.BytesIO(image.data))
    if not elf.has_dwarf_info():
        return ()
    start = image.symbols.get(symbol).address
    for unit in elf.get_dwarf_info().iter_CUs():
        for die in unit.iter_DIEs():
            low = die.attributes.get("DW_AT_low_pc")
            if die.tag == "DW_TAG_subprogram" and low is not None and low.value == start:
                return tuple(dict.fromkeys(_inlined(die)))
    return ()


def _inlined(die: Any) -> Iterator[str]:
    for child in die.iter_children():
        if child.tag == "DW_TAG_inlined_subroutine" and "DW_AT_abstract_origin" in child.attributes:
            name = child.get_DIE_from_attribute("DW_AT_abstract_origin").attributes.get("DW_AT_name")
            if name is not None:
                yield name.value.decode("utf-8", "replace")
        yield from _inlined(child)


def _has_changed(good: Image, bad: Image, name: str) -> bool:
    """Whether the code of a function of both images differs in more than where things are."""
    if name not in good.symbols or name not in bad.symbols:
        return False
    return _code(good, name) != _code(bad, name)


def _code(image: Image, name: str) -> list[tuple[object, ...]]:
    symbol = image.symbols.get(name)
    segment = image.segment_at(symbol.address)
    found: list[tuple[object, ...]] = []
    at = symbol.address
    while segment is not None and at < symbol.end:
        try:
            insn = decode(segment.data[at - segment.address : at - segment.address + 4], at)
        except IllegalInstruction:
            break
        kept = [insn.operands[o.name] for o in insn.row.operands if o.kind.cls != "label"]
        found.append((insn.mnemonic, *kept))
        at = insn.next_pc
    return found


def places_of(image: Image, found: FirstWrong) -> list[Location]:
    """Where a reader of the source should look, the likeliest first: the instruction, the lines that it was
    inlined from, and where the code differs.
    """
    spots = [found.bad.where, *([found.parted[1]] if found.parted is not None else [])]
    return list(dict.fromkeys(place for spot in spots for place in (spot, *call_sites(image, spot))))


def call_sites(image: Image, place: Location) -> list[Location]:
    """For code that was inlined: the lines that call the inlined functions, the innermost first."""
    try:
        return _call_sites(image, place)
    except Exception:  # a damaged file makes the parser raise anything; call sites are a courtesy
        return []


def _call_sites(image: Image, place: Location) -> list[Location]:
    elf = ELFFile(io.BytesIO(image.data))
    if not elf.has_dwarf_info() or not place.symbol:
        return []
    dwarf = elf.get_dwarf_info()
    start = image.symbols.get(place.symbol).address
    for unit in dwarf.iter_CUs():
        for die in unit.iter_DIEs():
            low = die.attributes.get("DW_AT_low_pc")
            if die.tag == "DW_TAG_subprogram" and low is not None and low.value == start:
                program = dwarf.line_program_for_CU(unit)
                return list(_inlined_at(die, place, program, dwarf.range_lists(), unit))[::-1]
    return []


def _inlined_at(die: Any, place: Location, program: Any, ranges: Any, unit: Any) -> Iterator[Location]:
    """Call sites of the inlined functions around an address, the outermost first."""
    for child in die.iter_children():
        if child.tag == "DW_TAG_inlined_subroutine" and _holds(child, place.address, ranges, unit):
            attributes = child.attributes
            if "DW_AT_call_line" in attributes and "DW_AT_call_file" in attributes:
                file = file_name(program.header, attributes["DW_AT_call_file"].value)
                line = attributes["DW_AT_call_line"].value
                yield Location(place.address, place.symbol, place.offset, file, line)
        if child.tag in ("DW_TAG_inlined_subroutine", "DW_TAG_lexical_block"):
            yield from _inlined_at(child, place, program, ranges, unit)


def _holds(die: Any, address: int, ranges: Any, unit: Any) -> bool:
    attributes = die.attributes
    if "DW_AT_low_pc" in attributes and "DW_AT_high_pc" in attributes:
        low, high = attributes["DW_AT_low_pc"].value, attributes["DW_AT_high_pc"]
        end = high.value if high.form == "DW_FORM_addr" else low + high.value
        return bool(low <= address < end)
    if "DW_AT_ranges" not in attributes or ranges is None:
        return False
    base = unit.get_top_DIE().attributes.get("DW_AT_low_pc")
    start = base.value if base is not None else 0
    entries = ranges.get_range_list_at_offset(attributes["DW_AT_ranges"].value, cu=unit)
    return any(
        (0 if getattr(e, "is_absolute", False) else start) + e.begin_offset
        <= address
        < (0 if getattr(e, "is_absolute", False) else start) + e.end_offset
        for e in entries
        if hasattr(e, "begin_offset")
    )
