"""Which compilation unit an address belongs to: .debug_aranges (DWARF 4 and 5, section 6.1.2).

The linker leaves empty pairs (0, 0) where it has dropped a function (--gc-sections). They look like the pair
that ends a unit's list; the length of the list says where it really ends.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

Range = tuple[int, int, int]
"""First address, end, offset of the unit in .debug_info."""


def listed_ranges(dwarf: Any) -> list[Range]:
    """All ranges of the section that are not empty; [] without the section."""
    section = dwarf.debug_aranges_sec
    if section is None:
        return []
    section.stream.seek(0)
    data = section.stream.read()
    found: list[Range] = []
    at = 0
    while at + 12 <= len(data):
        length, version, offset, address_size, segment_size = struct.unpack_from("<IHIBB", data, at)
        end = at + 4 + length
        if version != 2 or address_size != 4 or segment_size or not at + 12 <= end <= len(data):
            break
        found += _pairs(data, at + 16, end, offset)  # the pairs are aligned to their size
        at = end
    return found


def _pairs(data: bytes, start: int, end: int, offset: int) -> Iterator[Range]:
    for at in range(start, end - 7, 8):
        address, length = struct.unpack_from("<II", data, at)
        if length and address:
            yield address, address + length, offset


class Ranges:
    """Ranges in order, to look addresses up in."""

    def __init__(self, ranges: list[Range]) -> None:
        self._ranges = sorted(ranges)

    def unit_at(self, address: int) -> int | None:
        """Offset of the unit, None when no range has the address."""
        place = bisect_right(self._ranges, (address, 1 << 33, 0)) - 1
        if place >= 0 and self._ranges[place][0] <= address < self._ranges[place][1]:
            return self._ranges[place][2]
        return None

    def units(self) -> set[int]:
        """Offsets of the units that have ranges."""
        return {offset for _, _, offset in self._ranges}
