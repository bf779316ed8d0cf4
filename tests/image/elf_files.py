"""Small ELF files made by hand, right or wrong in one chosen way."""

from __future__ import annotations

import struct
from dataclasses import dataclass

XTENSA = 94
CODE, DATA = 0x40378000, 0x3FC98000
FUNCTION, OBJECT, LABEL = 2, 1, 0


@dataclass
class Part:
    """A segment and the section of the same bytes; ``size`` may exceed the data (zeros)."""

    address: int
    data: bytes
    perms: str = "rx"
    size: int = 0
    name: str = ".text"


@dataclass
class Name:
    """A symbol; ``section`` is the number of its part (0 based), None: absolute."""

    name: str
    address: int
    size: int = 0
    kind: int = FUNCTION
    is_global: bool = True
    section: int | None = 0


def xtensa_info(text: str = "USE_ABSOLUTE_LITERALS=0\nABI=0\n") -> bytes:
    """The note that the assembler writes into .xtensa.info."""
    raw = text.encode() + b"\0"
    raw += bytes(-len(raw) % 4)
    return struct.pack("<III", 12, len(raw), 1) + b"Xtensa_Info\0" + raw


def make_elf(
    parts: list[Part],
    names: list[Name] | None = None,
    *,
    machine: int = XTENSA,
    word: int = 1,
    order: int = 1,
    kind: int = 2,
    info: bytes | None = None,
    with_headers: bool = True,
    entry: int = CODE,
) -> bytes:
    """An ELF file with one program header and one section per part, a symbol table and the ABI note."""
    strings, offsets = bytearray(b"\0"), {"": 0}

    def string(text: str) -> int:
        if text not in offsets:
            offsets[text] = len(strings)
            strings.extend(text.encode() + b"\0")
        return offsets[text]

    body = bytearray()
    start = 52 + (32 * len(parts) if with_headers else 0)

    def put(data: bytes) -> int:
        body.extend(bytes(-len(body) % 4))
        at = start + len(body)
        body.extend(data)
        return at

    programs, sections = [], [bytes(40)]
    for part in parts:
        at, size = put(part.data), max(part.size, len(part.data))
        flags = sum(bit for letter, bit in (("r", 4), ("w", 2), ("x", 1)) if letter in part.perms)
        header = (1, at, part.address, part.address, len(part.data), size, flags, 4)
        programs.append(struct.pack("<8I", *header))
        section_flags = 2 | ("w" in part.perms) | 4 * ("x" in part.perms)
        nobits = 8 if not part.data else 1
        sections.append(_section(string(part.name), nobits, section_flags, part.address, at, size))
    note = xtensa_info() if info is None else info
    if note:
        sections.append(_section(string(".xtensa.info"), 7, 0, 0, put(note), len(note)))
    symbols = bytearray(16)
    for name in names or []:
        where = 0xFFF1 if name.section is None else name.section + 1
        symbol_info = (16 if name.is_global else 0) | name.kind
        symbols += struct.pack("<IIIBBH", string(name.name), name.address, name.size, symbol_info, 0, where)
    at = put(bytes(symbols))
    link = len(sections) + 1
    string(".symtab"), string(".strtab")
    sections.append(_section(string(".symtab"), 2, 0, 0, at, len(symbols), link, 16))
    sections.append(_section(string(".strtab"), 3, 0, 0, put(bytes(strings)), len(strings)))
    shoff = put(b"".join(sections))
    ident = b"\x7fELF" + bytes([word, order, 1]) + bytes(9)
    phnum = len(parts) if with_headers else 0
    head = (kind, machine, 1, entry, 52 if phnum else 0, shoff, 0x300, 52, 32, phnum, 40, len(sections), link)
    return ident + struct.pack("<HHIIIIIHHHHHH", *head) + b"".join(programs[:phnum]) + bytes(body)


def _section(
    name: int, kind: int, flags: int, address: int, at: int, size: int, link: int = 0, entsize: int = 0
) -> bytes:
    return struct.pack("<10I", name, kind, flags, address, at, size, link, 0, 4, entsize)


def plain(code: bytes = b"\x36\x41\x00\x1d\xf0") -> bytes:
    """An image with one function ``f``: entry a1, 32; retw.n."""
    return make_elf([Part(CODE, code)], [Name("f", CODE, len(code))])
