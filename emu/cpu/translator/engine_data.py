"""What units find through ``CpuState.engine_data``: helpers, and recently used stretches of guest memory.

A stretch is a run of pages with one host offset, known by its first guest address, its length and the
offset. Each place that accesses memory looks into the entry of its base register; as the entry's address is
fixed, looking there takes no time in a chain of dependent loads, which the page table would. An access that
an entry does not cover goes to the helper ``miss``, which asks the page tables and fills the entry. Entries
are forgotten whenever the page tables change (``Memory.layout_version``).
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping

HELPERS = ("spill", "fill", "reach", "miss")
"""Native helpers by their place in the table."""
SPILL, FILL, REACH, MISS = range(len(HELPERS))

ENTRY_BYTES = 16
"""First guest address (u32), length (u32), host offset (i64)."""
ENTRIES = 128
"""For loads; as many follow for stores."""
FIRST_ENTRY = 64
"""Offset of the entries in the table."""
TAIL = 15
"""Bytes at the end of a stretch that its entry leaves out: whatever begins before them fits if it has 16
bytes.
"""

COUNTERS = 1024
"""How often units may still run before they are worth more effort (i32), by a hash of their address."""
FIRST_COUNTER = FIRST_ENTRY + 2 * ENTRIES * ENTRY_BYTES
_SIZE = FIRST_COUNTER + 4 * COUNTERS


class EngineData:
    """The table of one engine, at an address that never changes."""

    def __init__(self, helpers: Mapping[str, int]) -> None:
        self._buffer = (ctypes.c_char * (_SIZE + 64))()
        self.address = (ctypes.addressof(self._buffer) + 63) & ~63
        table = (ctypes.c_uint64 * len(HELPERS)).from_address(self.address)
        table[:] = [helpers[name] for name in HELPERS]

    def allow(self, unit: int, passes: int) -> None:
        """Let the unit at an address pass its counter this often."""
        place = ctypes.c_int32.from_address(self.address + counter_offset(unit))
        place.value = max(place.value, passes)

    def forget(self) -> None:
        """No stretch is known any more."""
        ctypes.memset(self.address + FIRST_ENTRY, 0, 2 * ENTRIES * ENTRY_BYTES)


def counter_offset(unit: int) -> int:
    """Offset of the counter of the unit at address ``unit``."""
    return FIRST_COUNTER + 4 * ((unit >> 1) * 0x9E3779B1 >> 7 & (COUNTERS - 1))


def entry_offset(unit: int, base: int, is_store: bool) -> int:
    """Offset of the entry for base register ``base`` in the unit at address ``unit``."""
    number = ((unit >> 1) * 37 + base * 5) % ENTRIES
    return FIRST_ENTRY + ENTRY_BYTES * (number + (ENTRIES if is_store else 0))
