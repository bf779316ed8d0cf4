"""Source lines of addresses from DWARF 4 and 5, read when first asked for, one compilation unit at a time."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import Any

from elftools.elf.elffile import ELFFile

from emu.image.ranges import Range, Ranges, listed_ranges


@dataclass(frozen=True)
class _Unit:
    """Line table of one compilation unit: rows by address; line 0 marks the end of a sequence."""

    addresses: list[int]
    places: list[tuple[str, int]]


class Lines:
    """Address to (file, line). Missing or damaged debug information is no error: see ``warning``."""

    def __init__(self, elf: ELFFile) -> None:
        self._elf = elf
        self._dwarf: Any = None
        self._is_open = False
        self._units: dict[int, _Unit] = {}
        self._ranges: Ranges | None = None
        self.warning = ""
        """Why there are no (or not all) source lines; empty while nothing is missing."""

    def at(self, address: int) -> tuple[str, int] | None:
        """File and line of the code at an address, None where the image does not say."""
        # The parser raises whatever a damaged file makes it raise; source lines are a courtesy, never a
        # reason to fail.
        try:
            return self._lookup(address)
        except Exception as error:
            self.warning = f"damaged debug information ({type(error).__name__}: {error}); no source lines"
            return None

    def _lookup(self, address: int) -> tuple[str, int] | None:
        if not self._is_open:
            self._open()
        if self._dwarf is None:
            return None
        offset = self._unit_at(address)
        if offset is None:
            return None
        unit = self._units.get(offset)
        if unit is None:
            unit = self._units[offset] = self._read_unit(offset)
        place = bisect_right(unit.addresses, address) - 1
        if place < 0 or not unit.places[place][1]:
            return None
        return unit.places[place]

    def _open(self) -> None:
        self._is_open = True
        if not self._elf.has_dwarf_info():
            self.warning = "the image has no debug information; no source lines"
            return
        self._dwarf = self._elf.get_dwarf_info()
        if self._dwarf.debug_line_sec is None:
            self.warning = "the image has no line table; no source lines"
            self._dwarf = None

    def _unit_at(self, address: int) -> int | None:
        if self._ranges is None:
            self._ranges = Ranges(self._address_ranges())
        return self._ranges.unit_at(address)

    def _address_ranges(self) -> list[Range]:
        """From .debug_aranges, and for units that are not in it from themselves."""
        found = listed_ranges(self._dwarf)
        listed = {offset for _, _, offset in found}
        for unit in self._dwarf.iter_CUs():
            if unit.cu_offset not in listed:
                found += self._own_ranges(unit)
        return found

    def _own_ranges(self, unit: Any) -> list[Range]:
        table = self._read_unit(unit.cu_offset)
        starts, found = None, []
        for address, (_, line) in zip(table.addresses, table.places, strict=True):
            if line and starts is None:
                starts = address
            elif not line and starts is not None:
                found.append((starts, address, unit.cu_offset))
                starts = None
        return found

    def _read_unit(self, offset: int) -> _Unit:
        program = self._dwarf.line_program_for_CU(self._dwarf.get_CU_at(offset))
        rows: list[tuple[int, bool, str, int]] = []
        for entry in program.get_entries() if program is not None else ():
            state = entry.state
            if state is not None:
                ends = bool(state.end_sequence)
                place = ("", 0) if ends else (_file_name(program.header, state.file), state.line)
                rows.append((state.address, not ends, *place))
        # At one address the end of a sequence comes before the start of the next one.
        rows.sort(key=lambda row: row[:2])
        return _Unit([row[0] for row in rows], [(row[2], row[3]) for row in rows])


def _file_name(header: Any, index: int) -> str:
    """Path as the compiler recorded it, without the compilation directory."""
    is_v5 = header["version"] >= 5
    entry = header["file_entry"][index if is_v5 else index - 1]
    folder = ""
    if entry.dir_index:
        folder = _text(header["include_directory"][entry.dir_index - (0 if is_v5 else 1)])
    name = _text(entry.name)
    path = f"{folder}/{name}" if folder and not name.startswith("/") else name
    return path.removeprefix("./")


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
