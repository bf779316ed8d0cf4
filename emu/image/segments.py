"""The parts of an image that go into memory, checked against the chip's memory map."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from emu.image.errors import ImageError
from emu.image.header import Header
from emu.image.map import AREAS, Area, area_of, describe

PT_LOAD, SHT_NOBITS, SHF_ALLOC, SHF_WRITE, SHF_EXECINSTR = 1, 8, 2, 1, 4

_OTHER_CHIPS = (
    (0x3FFAE000, 0x40000000, "data RAM of the ESP32 or ESP32-S2"),
    (0x40080000, 0x400A0000, "instruction RAM of the ESP32"),
    (0x400C2000, 0x40400000, "flash code of the ESP32"),
    (0x3F400000, 0x3F800000, "flash data of the ESP32"),
    (0x40020000, 0x40070000, "instruction RAM of the ESP32-S2"),
    (0x3F000000, 0x3F3F0000, "flash data of the ESP32-S2"),
    (0x40200000, 0x40300000, "flash code of the ESP8266"),
    (0x40100000, 0x40108000, "instruction RAM of the ESP8266"),
    (0x3FFE8000, 0x40000000, "data RAM of the ESP8266"),
)


@dataclass(frozen=True)
class Segment:
    """``data`` goes to ``address``, zeros follow up to ``size`` bytes; ``perms`` as the file states them."""

    address: int
    size: int
    data: bytes
    perms: str
    name: str

    @property
    def end(self) -> int:
        """First address after the segment."""
        return self.address + self.size


def read_segments(data: bytes, header: Header, name: str) -> tuple[Segment, ...]:
    """Loadable parts: program headers, or sections where there are none. Raises ImageError."""
    found = list(_program_headers(data, header) if header.phnum else _sections(data, header))
    for segment in found:
        _check_place(segment, name)
    if not found:
        raise ImageError(f"{name}: nothing to load: no program header and no section goes into memory")
    _check_overlaps(found, name)
    return tuple(sorted(found, key=lambda s: s.address))


def _program_headers(data: bytes, header: Header) -> Iterable[Segment]:
    for i in range(header.phnum):
        fields = struct.unpack_from("<8I", data, header.phoff + 32 * i)
        kind, offset, vaddr, _, filesz, memsz, flags, _ = fields
        if kind == PT_LOAD and (memsz or filesz):
            perms = "".join(letter for letter, bit in (("r", 4), ("w", 2), ("x", 1)) if flags & bit)
            yield _cut(data, offset, vaddr, filesz, max(memsz, filesz), perms, f"segment {i}")


def _sections(data: bytes, header: Header) -> Iterable[Segment]:
    for i in range(header.shnum):
        _, kind, flags, address, offset, size, *_ = struct.unpack_from("<10I", data, header.shoff + 40 * i)
        if flags & SHF_ALLOC and size:
            perms = "r" + "w" * bool(flags & SHF_WRITE) + "x" * bool(flags & SHF_EXECINSTR)
            filesz = 0 if kind == SHT_NOBITS else size
            yield _cut(data, offset, address, filesz, size, perms, f"section {i}")


def _cut(data: bytes, offset: int, address: int, filesz: int, memsz: int, perms: str, what: str) -> Segment:
    if filesz and offset + filesz > len(data):
        end = offset + filesz
        where = f"{what} at {address:#010x} ends at byte {end} of the file"
        raise ImageError(f"truncated: {where}, which has {len(data)}")
    return Segment(address, memsz, data[offset : offset + filesz], perms, what)


def _check_place(segment: Segment, name: str) -> None:
    if area_of(segment.address, segment.size) is not None:
        return
    place = f"{segment.name} ({segment.address:#010x}, {segment.size:#x} bytes)"
    area = area_of(segment.address)
    if area is not None:
        end = f"{area.name} ends at {area.end:#010x}"
        raise ImageError(f"{name}: {place} does not fit the chip's memory: {end}")
    hint = "".join(f"; that is {what}" for low, high, what in _OTHER_CHIPS if low <= segment.address < high)
    raise ImageError(f"{name}: {place} lies in {describe(segment.address)} of the ESP32-S3{hint}")


def _check_overlaps(segments: list[Segment], name: str) -> None:
    _check_disjoint([(s.address, s.end, s) for s in segments], name, "overlap")
    stored = [(_physical(s.address), _physical(s.address) + len(s.data), s) for s in segments if s.data]
    _check_disjoint(stored, name, "are the same RAM, seen through the instruction bus and the data bus")


def _check_disjoint(ranges: list[tuple[int, int, Segment]], name: str, how: str) -> None:
    ranges.sort(key=lambda r: r[:2])
    for (_, end, a), (start, _, b) in pairwise(ranges):
        if start < end:
            places = f"{a.name} ({a.address:#010x}) and {b.name} ({b.address:#010x})"
            raise ImageError(f"{name}: {places} {how}")


def _physical(address: int) -> int:
    """The address of the same byte in the area that an alias shows."""
    area = area_of(address)
    if area is None or not area.alias_of:
        return address
    return address - area.start + area.alias_offset + _area(area.alias_of).start


def _area(name: str) -> Area:
    return next(area for area in AREAS if area.name == name)
