"""Booting from flash as the ROM does: its first lines, the image header, checks, loading (ESP-IDF,
"App Image Format"; chip reference manual, "Chip Boot Control")."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable
from dataclasses import dataclass

from emu.board.chip import CHIP_ID, RESET_NAMES, Reset
from emu.board.flash import Flash
from emu.cpu.map import MMU_BLOCK
from emu.cpu.memory import Memory, MemoryFault

MAGIC = 0xE9
HEADER, SEGMENT = 24, 8
MOST_SEGMENTS = 16
CHECKSUM_SEED = 0xEF
MODES = {0: "QIO", 1: "QOUT", 2: "DIO", 3: "DOUT", 4: "FAST_READ", 5: "SLOW_READ"}
CLOCKS = {0x0: 2, 0x1: 3, 0x2: 4, 0xF: 1}
ROM_RAM = (0x3FCED710, 0x3FCF0000)
"""Data of the ROM itself, which the ROM refuses to load over."""
LOADABLE = (
    (0x3FC88000, 0x3FCF0000),
    (0x40370000, 0x403E0000),
    (0x50000000, 0x50002000),
    (0x600FE000, 0x60100000),
)


class BootError(Exception):
    """The ROM refuses an image. ``text``: what it prints; ``why``: the reason in words."""

    def __init__(self, text: str, why: str) -> None:
        super().__init__(why)
        self.text = text
        self.why = why


@dataclass(frozen=True)
class Segment:
    """Bytes for an address. ``offset``: where they lie in flash."""

    address: int
    data: bytes
    offset: int


@dataclass(frozen=True)
class FlashImage:
    """A checked image. ``mode``, ``clock``: as the header names them."""

    entry: int
    segments: tuple[Segment, ...]
    mode: str
    clock: int
    size_bytes: int


def boot_lines(cause: Reset, is_download: bool, saved_pc: int) -> str:
    """What the ROM prints first."""
    mode = "0x0 (DOWNLOAD(USB/UART0))" if is_download else "0x8 (SPI_FAST_FLASH_BOOT)"
    lines = [
        "ESP-ROM:esp32s3-20210327",
        "Build:Mar 27 2021",
        f"rst:{cause:#x} ({RESET_NAMES[cause]}),boot:{mode}",
    ]
    if cause not in (Reset.POWERON, Reset.BROWN_OUT):
        lines.append(f"Saved PC:{saved_pc:#010x}")
    return "".join(line + "\r\n" for line in lines)


def read_image(flash: Flash, offset: int = 0) -> FlashImage:
    """The image at an offset of the flash chip, checked as the ROM checks it. Raises BootError."""
    header = flash.read(offset, HEADER)
    magic, count, mode, size_speed, entry = struct.unpack_from("<BBBBI", header)
    if magic != MAGIC:
        word = int.from_bytes(header[:4], "little")
        raise BootError(
            f"invalid header: {word:#010x}\r\n", f"no image at {offset:#x}: {word:#010x} is no header"
        )
    _check_header(header, count, size_speed, flash)
    at = offset + HEADER
    segments = []
    for number in range(count):
        address, length = struct.unpack("<II", flash.read(at, SEGMENT))
        if length > flash.size or at + SEGMENT + length > flash.size:
            raise BootError(
                f"ets_loader.c 78 \r\ninvalid segment length {length:#x}\r\n",
                f"segment {number} has {length:#x} bytes, more than the flash chip",
            )
        segments.append(Segment(address, flash.read(at + SEGMENT, length), at + SEGMENT))
        at += SEGMENT + length
    _check_places(segments)
    _check_sums(flash, offset, at, segments, bool(header[23] & 1))
    size = 1 << 20 << (size_speed >> 4)
    return FlashImage(entry, tuple(segments), MODES.get(mode, "?"), CLOCKS.get(size_speed & 15, 1), size)


def _check_header(header: bytes, count: int, size_speed: int, flash: Flash) -> None:
    (chip,) = struct.unpack_from("<H", header, 12)
    if not 0 < count <= MOST_SEGMENTS:
        raise BootError(
            f"invalid segment count: {count}\r\n", f"{count} segments; 1 to {MOST_SEGMENTS} are allowed"
        )
    if chip != CHIP_ID:
        raise BootError(
            f"wrong chip id {chip:#06x}\r\n",
            f"the image is for the chip with number {chip}, this one has {CHIP_ID}",
        )
    size = 1 << 20 << (size_speed >> 4)
    if size > flash.size:
        raise BootError(
            f"flash size in header {size:#x} larger than chip {flash.size:#x}\r\n",
            f"the image header asks for {size >> 20} MiB of flash, the chip has {flash.size >> 20} MiB",
        )


def _check_places(segments: list[Segment]) -> None:
    """Segments lie in RAM that may be loaded, and not over each other."""
    taken: list[tuple[int, int]] = []
    for number, segment in enumerate(segments):
        if not segment.data or segment.address == 0:
            continue
        start, end = segment.address, segment.address + len(segment.data)
        if not any(low <= start and end <= high for low, high in LOADABLE):
            if _is_cached(start):
                _check_cached(number, segment)
                continue  # the second stage maps it
            raise BootError(
                f"invalid segment address {start:#010x}\r\n",
                f"segment {number} ({start:#010x}..{end:#010x}) lies in no memory that the ROM can load",
            )
        place = _data_bus(start)
        if place < ROM_RAM[1] and ROM_RAM[0] < place + end - start:
            raise BootError(
                f"Attempting to overlap ROM data with segment {number} at {start:#010x}\r\n",
                f"segment {number} ({start:#010x}..{end:#010x}) lies over the ROM's own data",
            )
        for low, high in taken:
            if place < high and low < place + end - start:
                raise BootError(
                    f"Attempting to load overlapping segment {number} at {start:#010x}\r\n",
                    f"segment {number} ({start:#010x}..{end:#010x}) lies over one before it",
                )
        taken.append((place, place + end - start))


def _check_cached(number: int, segment: Segment) -> None:
    """The cache shows whole pages: flash offset and address differ by a multiple of 64 KiB.

    The ROM does not look at these segments; the second stage refuses them so.
    """
    if (segment.offset - segment.address) % MMU_BLOCK:
        place, offset = f"{segment.address:#010x}", f"{segment.offset:#010x}"
        raise BootError(
            f"segment {number} load address {place}, doesn't match data {offset}\r\n",
            f"segment {number} is for {place} but lies at {offset} in flash: not equal modulo 64 KiB",
        )


def _is_cached(address: int) -> bool:
    """In a window of the cache."""
    return 0x3C000000 <= address < 0x3E000000 or 0x42000000 <= address < 0x44000000


def _data_bus(address: int) -> int:
    """SRAM1 is the same memory at two addresses."""
    return address - 0x40378000 + 0x3FC88000 if 0x40378000 <= address < 0x403E0000 else address


def _check_sums(flash: Flash, offset: int, end: int, segments: list[Segment], has_hash: bool) -> None:
    """The XOR of all bytes at the next 16n + 15, then SHA-256 over everything before itself."""
    checksum = CHECKSUM_SEED
    for segment in segments:
        for value in segment.data:
            checksum ^= value
    place = end + 15 - (end - offset) % 16
    stored = flash.read(place, 1)[0]
    if stored != checksum:
        raise BootError(
            f"csum err:{checksum:#04x}!={stored:#04x}\r\nets_main.c 384 \r\n",
            f"checksum {checksum:#04x}, but the image says {stored:#04x}",
        )
    if has_hash:
        digest = hashlib.sha256(flash.read(offset, place + 1 - offset)).digest()
        stored_digest = flash.read(place + 1, 32)
        if digest != stored_digest:
            raise BootError(
                "SHA-256 comparison failed:\r\n"
                f"Calculated: {digest.hex()}\r\nExpected: {stored_digest.hex()}\r\n",
                f"SHA-256 is {digest.hex()}, but the image says {stored_digest.hex()}",
            )


def load_from_flash(memory: Memory, flash: Flash, say: Callable[[str], None]) -> int:
    """Load the image at the start of the flash chip; its entry. Raises BootError."""
    image = read_image(flash)
    say("SPIWP:0xee\r\n")
    say(f"mode:{image.mode}, clock div:{image.clock}\r\n")
    for segment in image.segments:
        if segment.data and not _is_cached(segment.address):
            say(f"load:{segment.address:#010x},len:{len(segment.data):#x}\r\n")
            try:
                memory.write(segment.address, segment.data)
            except MemoryFault as fault:
                raise BootError(f"invalid segment address {segment.address:#010x}\r\n", str(fault)) from None
    say(f"entry {image.entry:#010x}\r\n")
    return image.entry
