"""The MMU of the caches: 512 entries of 64 KiB that show flash or PSRAM in the two cache windows.

Both windows (instructions from 0x42000000, data from 0x3C000000) use the same table: entry n is the 64 KiB at
n * 64 KiB of either. An entry holds a page number in bits 13..0, bit 14 when it maps nothing, and bit 15 when
the page is one of PSRAM instead of flash (chip reference manual, "System and Memory"; the chip's external
memory definitions in ESP-IDF). Flash pages are read-only; PSRAM can be written through the data window.
"""

from __future__ import annotations

from dataclasses import dataclass

from emu.cpu.map import MMU_BLOCK
from emu.cpu.memory import Buffer, Memory, Region

ENTRIES = 512
PAGE_MASK = 0x3FFF
INVALID = 1 << 14
PSRAM = 1 << 15
TABLE_START = 0x600C5000
"""Where software reads and writes the entries, 4 bytes each."""
TABLE_SIZE = 4096
INSTRUCTIONS, DATA = 0x42000000, 0x3C000000
"""The two windows."""


class MmuError(Exception):
    """A mapping that does not fit."""


@dataclass(frozen=True)
class Use:
    """How many entries map what."""

    flash: int
    psram: int

    @property
    def free(self) -> int:
        """Entries that map nothing."""
        return ENTRIES - self.flash - self.psram

    def __str__(self) -> str:
        pages = f"{self.flash} pages of flash, {self.psram} of PSRAM, {self.free} free"
        return f"{pages}; a page is 64 KiB"


class Mmu:
    """The table, and the regions that it makes of ``flash`` and ``psram``. It is also the table's Device.

    Pages beyond the end of a chip map nothing (the access faults), as its bus would give nothing sensible.
    """

    def __init__(self, memory: Memory, flash: Buffer, psram: Buffer | None = None) -> None:
        """Sizes of the buffers are multiples of 64 KiB. Every entry is invalid at first."""
        for chip in (flash, psram):
            if chip is not None and chip.size % MMU_BLOCK:
                raise ValueError(
                    f"a memory chip of {chip.size:#x} bytes; it must be a multiple of {MMU_BLOCK:#x}"
                )
        self.memory = memory
        self.flash = flash
        self.psram = psram
        self._entries = [INVALID] * ENTRIES
        self._regions: dict[int, tuple[Region, ...]] = {}

    # --- the table ----------------------------------------------------------------------------------------
    def entry(self, index: int) -> int:
        """What the table holds."""
        return self._entries[index]

    def set_entry(self, index: int, value: int) -> None:
        """Map or unmap 64 KiB of both windows; what was translated from there is forgotten."""
        value &= PSRAM | INVALID | PAGE_MASK
        if value == self._entries[index]:
            return
        self._entries[index] = value
        for region in self._regions.pop(index, ()):
            self.memory.remove(region)
        chip = self.psram if value & PSRAM else self.flash
        offset = (value & PAGE_MASK) * MMU_BLOCK
        if not value & INVALID and chip is not None and offset < chip.size:
            self._regions[index] = self._map(index, chip, offset)

    def _map(self, index: int, chip: Buffer, offset: int) -> tuple[Region, ...]:
        name = "PSRAM" if chip is self.psram else "flash"
        place, add = index * MMU_BLOCK, self.memory.add_ram
        code = add(f"{name} (instruction cache)", INSTRUCTIONS + place, MMU_BLOCK, "rx", chip, offset)
        perms = "rw" if chip is self.psram else "r"
        return code, add(f"{name} (data cache)", DATA + place, MMU_BLOCK, perms, chip, offset)

    @property
    def use(self) -> Use:
        """What the entries are used for."""
        valid = [value for value in self._entries if not value & INVALID]
        psram = sum(1 for value in valid if value & PSRAM)
        return Use(len(valid) - psram, psram)

    # --- mapping ranges -----------------------------------------------------------------------------------
    def map(self, address: int, page: int, count: int, is_psram: bool = False) -> None:
        """Show ``count`` pages from ``page`` on at ``address`` (of either window, a multiple of 64 KiB).

        Raises MmuError when the place is not in a window.
        """
        first = self._index(address, count)
        for i in range(count):
            self.set_entry(first + i, page + i & PAGE_MASK | (PSRAM if is_psram else 0))

    def map_anywhere(self, page: int, count: int, is_psram: bool = False) -> int:
        """Show pages in the first free run of entries that is long enough; its address in the data window.

        Raises MmuError that tells how the entries are used when there is none.
        """
        run = self._free_run(count)
        if run is None:
            longest = next((n for n in range(count, 0, -1) if self._free_run(n) is not None), 0)
            raise MmuError(
                f"{count} pages do not fit the cache's MMU: the longest free run has {longest} of its "
                f"{ENTRIES} entries ({self.use})"
            )
        address = DATA + run * MMU_BLOCK
        self.map(address, page, count, is_psram)
        return address

    def _free_run(self, count: int) -> int | None:
        length = 0
        for index, value in enumerate(self._entries):
            length = length + 1 if value & INVALID else 0
            if length == count:
                return index - count + 1
        return None

    def _index(self, address: int, count: int) -> int:
        for window in (INSTRUCTIONS, DATA):
            first, rest = divmod(address - window, MMU_BLOCK)
            if not rest and first >= 0 and first + count <= ENTRIES:
                return first
        raise MmuError(
            f"{count} pages at {address:#010x} are not inside a cache window, at a multiple of 64 KiB"
        )

    # --- as the device at TABLE_START ---------------------------------------------------------------------
    def attach(self) -> None:
        """Let software see the table at its address."""
        self.memory.add_device("cache MMU table", TABLE_START, TABLE_SIZE, self)

    def read(self, address: int, size: int) -> int:
        """The entry at an address of the table; 0 behind its end."""
        first, low = divmod(address - TABLE_START, 4)
        words = [self._entries[i] if i < ENTRIES else 0 for i in range(first, first + 5)]
        data = b"".join(word.to_bytes(4, "little") for word in words)
        return int.from_bytes(data[low : low + size], "little")

    def write(self, address: int, size: int, value: int) -> None:
        """Set the entries at an address of the table; bytes of an entry that are not written stay."""
        data = value.to_bytes(size, "little")
        first, last = (address - TABLE_START) // 4, (address - TABLE_START + size - 1) // 4
        for index in range(first, min(last + 1, ENTRIES)):
            word = bytearray(self._entries[index].to_bytes(4, "little"))
            for i in range(4):
                offset = TABLE_START + 4 * index + i - address
                if 0 <= offset < size:
                    word[i] = data[offset]
            self.set_entry(index, int.from_bytes(word, "little"))
