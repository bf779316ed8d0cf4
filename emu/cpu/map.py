"""The address map, under the name that this room uses; it is written down in :mod:`emu.image.map`."""

from emu.image.map import (
    AREAS,
    DEVICES,
    KIB,
    MIB,
    MMU_BLOCK,
    NOWHERE,
    PAGE,
    PAGE_BITS,
    PAGES,
    PSRAM_LIMIT,
    PSRAM_START,
    Area,
    area_of,
    describe,
)

__all__ = [
    "AREAS",
    "DEVICES",
    "KIB",
    "MIB",
    "MMU_BLOCK",
    "NOWHERE",
    "PAGE",
    "PAGES",
    "PAGE_BITS",
    "PSRAM_LIMIT",
    "PSRAM_START",
    "Area",
    "area_of",
    "describe",
]
