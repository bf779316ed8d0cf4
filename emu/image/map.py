"""The ESP32-S3 address space by name (chip reference manual, chapter "System and Memory")."""

from __future__ import annotations

from dataclasses import dataclass

from emu.image.peripherals import register_text

KIB = 1024
MIB = 1024 * KIB

PAGE_BITS = 12
PAGE = 1 << PAGE_BITS
PAGES = 1 << (32 - PAGE_BITS)


@dataclass(frozen=True)
class Area:
    """An address range of the chip. ``alias_of``: name of the area whose bytes it shows from
    ``alias_offset`` on.

    ``perms`` is any of "r", "w", "x". ``windowed``: only the 64 KiB blocks that an image fills are mapped,
    as the cache's MMU does; the rest faults.
    """

    name: str
    start: int
    size: int
    perms: str
    alias_of: str = ""
    alias_offset: int = 0
    windowed: bool = False

    @property
    def end(self) -> int:
        """First address after the area."""
        return self.start + self.size


AREAS: tuple[Area, ...] = (
    Area("SRAM0", 0x40370000, 32 * KIB, "rwx"),
    Area("SRAM1", 0x3FC88000, 416 * KIB, "rw"),
    Area("SRAM1 (instruction bus)", 0x40378000, 416 * KIB, "rwx", alias_of="SRAM1"),
    Area("SRAM2", 0x3FCF0000, 64 * KIB, "rw"),
    Area("RTC fast memory", 0x600FE000, 8 * KIB, "rwx"),
    Area("RTC slow memory", 0x50000000, 8 * KIB, "rwx"),
    Area("ROM", 0x40000000, 384 * KIB, "rx", windowed=True),
    Area("ROM (data bus)", 0x3FF00000, 128 * KIB, "r", windowed=True),
    Area("flash (instruction cache)", 0x42000000, 32 * MIB, "rx", windowed=True),
    Area("flash (data cache)", 0x3C000000, 32 * MIB, "r", windowed=True),
)
"""Memories, without the devices at 0x60000000. PSRAM takes part of the data cache window."""

PSRAM_START = 0x3D000000
"""Where the engine maps PSRAM in the data cache window; start-up code of the chip puts it behind the flash
data."""

PSRAM_LIMIT = 16 * MIB
"""Bytes between PSRAM_START and the end of the data cache window."""

MMU_BLOCK = 64 * KIB
"""Granularity of the cache windows."""

DEVICES = Area("devices", 0x60000000, 0xD1000, "")
"""Peripheral registers (emu.image.peripherals); what no board models there is not modelled."""


NOWHERE = "no memory"
"""What :func:`describe` says where nothing is."""


def area_of(address: int, size: int = 1) -> Area | None:
    """The memory area that holds all of ``address .. address + size - 1``, or None."""
    for area in AREAS:
        if area.start <= address and address + size <= area.end:
            return area
    return None


def describe(address: int) -> str:
    """Where an address lies, for messages: an area's name or "no memory"."""
    area = area_of(address)
    if area is not None:
        return area.name
    if DEVICES.start <= address < DEVICES.end:
        return f"device registers, {register_text(address)}"
    return NOWHERE
