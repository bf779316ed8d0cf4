"""Loading an ELF file: everything that can be wrong with it is found here and named."""

from __future__ import annotations

import hashlib
import io
import stat
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from elftools.elf.elffile import ELFFile

from emu.image.errors import ImageError
from emu.image.header import read_header
from emu.image.lines import Lines
from emu.image.location import Location
from emu.image.map import describe
from emu.image.segments import Segment, read_segments
from emu.image.symbols import Kind, Symbol, Symbols

LARGEST_FILE = 512 << 20
SYMBOL_SIZE = 16
_KINDS: dict[str, Kind] = {"STT_FUNC": "function", "STT_OBJECT": "object", "STT_NOTYPE": "label"}


@dataclass(frozen=True, eq=False)
class Image:
    """A checked ESP32-S3 executable. ``name`` is the file name for messages, ``sha256`` its digest in hex."""

    name: str
    sha256: str
    entry: int
    segments: tuple[Segment, ...]
    symbols: Symbols
    warnings: tuple[str, ...]
    data: bytes = field(repr=False)

    @cached_property
    def lines(self) -> Lines:
        """Source lines, read when first asked for."""
        return Lines(_open(self.data, self.name))

    def locate(self, address: int) -> Location:
        """Nearest symbol and source line of an address."""
        symbol = self.symbols.at(address)
        if symbol is not None and self.segment_at(symbol.address) is not self.segment_at(address):
            symbol = None
        if symbol is None and describe(address) == "ROM":
            symbol = self.symbols.absolute_at(address)
        place = self.lines.at(address) if self.is_code(address) else None
        file, line = place or ("", 0)
        if symbol is None:
            return Location(address, "", 0, file, line)
        return Location(address, symbol.name, address - symbol.address, file, line)

    def is_code(self, address: int) -> bool:
        """True inside an executable segment."""
        segment = self.segment_at(address)
        return segment is not None and "x" in segment.perms

    def segment_at(self, address: int) -> Segment | None:
        """The segment that holds an address, if any."""
        return next((s for s in self.segments if s.address <= address < s.end), None)


def load_image(source: str | Path | bytes, name: str = "") -> Image:
    """Read and check an ELF file (a path, or its bytes).

    Raises ImageError for everything that is not an executable of the ESP32-S3's windowed ABI whose segments
    lie in the chip's memory; no other exception for any content.
    """
    data, name = _read(source, name)
    header = read_header(data, name)
    segments = _named(name, lambda: read_segments(data, header, name))
    elf = _open(data, name)
    warnings: list[str] = []
    _named(name, lambda: _check_abi(elf, name))
    symbols = _named(name, lambda: list(_symbols(elf, segments)))
    if not symbols:
        warnings.append(f"{name}: no symbols; functions can be called by address only")
    digest = hashlib.sha256(data).hexdigest()
    return Image(name, digest, header.entry, segments, Symbols(symbols, name), tuple(warnings), data)


def _read(source: str | Path | bytes, name: str) -> tuple[bytes, str]:
    if isinstance(source, bytes):
        return source, name or "image"
    path = Path(source)
    try:
        if path.is_dir():
            raise ImageError(f"{path}: a folder, not a file")
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise ImageError(f"{path}: a pipe or a device, not a file; copy its contents into a file first")
        size = status.st_size
        if size > LARGEST_FILE:
            raise ImageError(f"{path}: {size} bytes; no ESP32-S3 image is larger than {LARGEST_FILE}")
        return path.read_bytes(), name or path.name
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ImageError(f"{path}: cannot be read: {reason}") from None


def _named(name: str, step: Any) -> Any:
    """Run one step of reading; whatever a damaged file makes the parser raise becomes an ImageError."""
    try:
        return step()
    except ImageError as error:
        text = str(error)
        raise (error if text.startswith(name) else ImageError(f"{name}: {text}")) from None
    except Exception as error:
        what = str(error) or "no details"
        raise ImageError(f"{name}: damaged ELF file ({type(error).__name__}: {what})") from None


def _open(data: bytes, name: str) -> ELFFile:
    elf: ELFFile = _named(name, lambda: ELFFile(io.BytesIO(data)))
    return elf


def _check_abi(elf: ELFFile, name: str) -> None:
    section = elf.get_section_by_name(".xtensa.info")
    if section is None:
        return
    settings = _settings(section.data())
    if settings.get("ABI", "0") != "0":
        raise ImageError(
            f"{name}: built for the call0 ABI (ESP8266 and others); compile for the windowed ABI"
        )
    if settings.get("USE_ABSOLUTE_LITERALS", "0") != "0":
        raise ImageError(f"{name}: built with absolute literals, which the ESP32-S3 does not have")


def _settings(note: bytes) -> dict[str, str]:
    """``KEY=value`` lines of the note that the assembler writes."""
    text = note[12:].partition(b"\0")[2].rstrip(b"\0").decode("ascii", "replace")
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


def _printable(name: str) -> str:
    """A name that goes to terminals: what could move the cursor or hide text is told by its number."""
    if name.isprintable():
        return name
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in name)


def _symbols(elf: ELFFile, segments: tuple[Segment, ...]) -> Iterable[Symbol]:
    table = elf.get_section_by_name(".symtab")
    if table is None or not hasattr(table, "iter_symbols"):
        return
    if table["sh_offset"] + table["sh_size"] > len(elf.stream.getvalue()):
        raise ImageError("truncated: the symbol table reaches beyond the end of the file")
    if table["sh_entsize"] != SYMBOL_SIZE:
        raise ImageError(f"damaged ELF file: symbols of {table['sh_entsize']} bytes, not {SYMBOL_SIZE}")
    for entry in table.iter_symbols():
        kind = _KINDS.get(entry["st_info"]["type"])
        section = entry["st_shndx"]
        if kind is None or section == "SHN_UNDEF" or not entry.name or entry.name.startswith((".L", "$")):
            continue
        is_global = entry["st_info"]["bind"] != "STB_LOCAL"
        address, size = entry["st_value"], entry["st_size"]
        is_inside = any(s.address <= address < s.end for s in segments)
        yield Symbol(
            _printable(entry.name), address, size, kind, is_global, section == "SHN_ABS" and not is_inside
        )
