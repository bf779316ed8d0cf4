"""The first look at an ELF file:

is it one, and is it for this chip? Plain struct reads, before any parser.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from emu.image.errors import ImageError

NEEDED = "an ESP32-S3 executable (ELF, Xtensa, 32-bit little-endian, windowed ABI) is needed"
HEADER_SIZE = 52
EM_XTENSA = 94

_MACHINES = {
    2: "SPARC",
    3: "x86 (32-bit)",
    4: "Motorola 68000",
    8: "MIPS",
    20: "PowerPC",
    21: "PowerPC 64",
    22: "S390",
    40: "ARM",
    42: "SuperH",
    62: "x86-64",
    83: "AVR",
    92: "OpenRISC",
    94: "Xtensa",
    183: "AArch64",
    243: "RISC-V (ESP32-C/H/P chips, or others)",
    258: "LoongArch",
}
_TYPES = {
    1: "a relocatable object (.o), not linked yet: link it first",
    3: "a shared object or position-independent program",
    4: "a core dump",
}
_MAGICS = (
    (b"\xe9", "an ESP application image (.bin)? Give the .elf file that it was made from"),
    (b"!<arch>\n", "a static library (.a): link it first"),
    (b"MZ", "a Windows program"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"PK\x03\x04", "a zip archive"),
    (b"UF2\n", "a UF2 file: give the .elf file that it was made from"),
)


@dataclass(frozen=True)
class Header:
    """The fields of the ELF header that are needed later."""

    entry: int
    phoff: int
    phnum: int
    shoff: int
    shnum: int


def read_header(data: bytes, name: str) -> Header:
    """Check the ELF header of ``data``. Raises ImageError that names what the file is instead."""
    if not data:
        raise ImageError(f"{name}: the file is empty; {NEEDED}")
    if data[:4] != b"\x7fELF":
        raise ImageError(f"{name}: not an ELF file{_guess(data)}; {NEEDED}")
    if len(data) < 20:
        raise ImageError(f"{name}: truncated: {len(data)} bytes, less than an ELF header")
    _check_machine(data, name)
    if len(data) < HEADER_SIZE:
        raise ImageError(f"{name}: truncated: {len(data)} bytes, an ELF header has {HEADER_SIZE}")
    kind, _, version, entry, phoff, shoff, _, _, phentsize, phnum, shentsize, shnum, _ = struct.unpack_from(
        "<HHIIIIIHHHHHH", data, 16
    )
    if kind != 2:
        raise ImageError(f"{name}: {_TYPES.get(kind, f'an ELF file of type {kind}')}; {NEEDED}")
    if version != 1:
        raise ImageError(f"{name}: ELF version {version}, only 1 exists")
    _check_table(data, name, "program header", phoff, phnum, phentsize, 32)
    _check_table(data, name, "section header", shoff, shnum, shentsize, 40)
    return Header(entry, phoff, phnum, shoff, shnum)


def _check_machine(data: bytes, name: str) -> None:
    word, order = data[4], data[5]
    if word not in (1, 2) or order not in (1, 2):
        raise ImageError(f"{name}: damaged ELF header: class {word}, byte order {order} at offset 4")
    (machine,) = struct.unpack_from("<H" if order == 1 else ">H", data, 18)
    what = _MACHINES.get(machine, f"machine number {machine}")
    if machine != EM_XTENSA:
        raise ImageError(f"{name}: an ELF file for {what}; {NEEDED}")
    if word != 1:
        raise ImageError(f"{name}: a 64-bit ELF file for {what}; {NEEDED}")
    if order != 1:
        raise ImageError(f"{name}: a big-endian ELF file for {what}; {NEEDED}")


def _check_table(
    data: bytes, name: str, what: str, offset: int, number: int, size: int, expected: int
) -> None:
    if not number:
        return
    if size != expected:
        raise ImageError(f"{name}: damaged ELF header: {what}s of {size} bytes, not {expected}")
    end = offset + number * size
    if end > len(data):
        raise ImageError(f"{name}: truncated: the {what} table ends at byte {end}, the file at {len(data)}")


def _guess(data: bytes) -> str:
    for magic, what in _MAGICS:
        if data.startswith(magic):
            return f" ({what})"
    return ""
