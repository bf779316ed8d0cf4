"""The byte-exact permission map ("bounds" mode): one shadow byte for each guest byte of RAM-like regions.

Bits of a shadow byte: READ (a load may touch it), WRITE (a store may), INIT (it has been written). A load
needs READ in all of its bytes and, with ``check_init``, INIT; a store needs WRITE and sets INIT. While the
map is on, translated code finds the shadow byte of a guest address at ``address + pages[address >> 12]``
(0: take the slow path). Aliases share their shadow bytes as they share their memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from emu.cpu.map import PAGE_BITS, PAGES

if TYPE_CHECKING:
    from emu.cpu.memory import Buffer, Memory, Region

READ, WRITE, INIT = 1, 2, 4


class BoundsFault(Exception):
    """First offending byte of an access; ``kind`` is read, write or uninitialised."""

    def __init__(self, kind: str, address: int) -> None:
        super().__init__(f"{kind} at {address:#010x}")
        self.kind = kind
        self.address = address


Report = Callable[[BoundsFault, int, int, str], None]
"""Gets the first offending byte, then address, size and kind ("load", "store") of the access."""


class Shadow:
    """Off until :meth:`enable`; then everything that was not allowed is refused."""

    def __init__(self, memory: Memory) -> None:
        self.enabled = False
        self.check_init = False
        """Refuse loads of bytes that were allowed but never written."""
        self.report: Report | None = None
        """Called for what would be refused, which then takes place; None: it is refused."""
        self._memory = memory
        self._pages: np.ndarray[Any, np.dtype[np.int64]] | None = None
        self._shadow: dict[Buffer, Buffer] = {}

    @property
    def pages_address(self) -> int:
        """Host address of the shadow page table (2**20 int64), 0 while the map is off."""
        return 0 if self._pages is None or not self.enabled else int(self._pages.ctypes.data)

    def enable(self, check_init: bool = False) -> None:
        """Turn checks on. Regions mapped so far start with no permission."""
        self.enabled = True
        self.check_init = check_init
        if self._pages is None:
            self._pages = np.zeros(PAGES, np.int64)
            for region in self._memory.regions:
                self._map(region)

    def disable(self) -> None:
        """Turn checks off; the map is kept."""
        self.enabled = False

    def region_added(self, region: Region) -> None:
        """Called by the memory for each new region."""
        if self._pages is not None:
            self._map(region)

    def region_removed(self, region: Region) -> None:
        """Called by the memory when a region goes; what its bytes allow is kept with its buffer."""
        if self._pages is not None:
            self._pages[region.start >> PAGE_BITS : region.end >> PAGE_BITS] = 0

    def _map(self, region: Region) -> None:
        if region.buffer is None or not region.shadowed or self._pages is None:
            return
        shadow = self._shadow.get(region.buffer)
        if shadow is None:
            shadow = self._shadow[region.buffer] = self._memory.new_buffer(region.buffer.size)
        pages = slice(region.start >> PAGE_BITS, region.end >> PAGE_BITS)
        self._pages[pages] = shadow.address + region.offset - region.start

    def allow(self, address: int, size: int, perm: int) -> None:
        """Set the permission bits of a range (READ | WRITE | INIT). Raises KeyError outside of memory."""
        for part in self._parts(address, size):
            part[:] = perm

    def deny(self, address: int, size: int) -> None:
        """No permission for a range."""
        self.allow(address, size, 0)

    def get(self, address: int, size: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
        """Copy of the shadow bytes of a range, uint8 [size]."""
        parts = self._parts(address, size)
        return np.concatenate(parts) if parts else np.zeros(0, np.uint8)

    def mark_written(self, address: int, size: int) -> None:
        """Set INIT (the permissions stay); no effect while the map does not exist."""
        if self._pages is not None:
            for part in self._parts(address, size):
                part |= INIT

    def check(self, address: int, size: int, is_store: bool) -> None:
        """Raise BoundsFault for the first byte that the access may not touch."""
        need = WRITE if is_store else READ
        if not is_store and self.check_init:
            need |= INIT
        offset = 0
        for part in self._parts(address, size):
            bad = np.flatnonzero((part & need) != need)
            if bad.size:
                raise BoundsFault(_kind(is_store, int(part[bad[0]])), address + offset + int(bad[0]))
            offset += part.size

    def _parts(self, address: int, size: int) -> list[np.ndarray[Any, np.dtype[np.uint8]]]:
        """Shadow bytes of a range as live arrays, one for each region; devices and holes are left out."""
        parts = []
        while size > 0:
            region = self._memory.find(address)
            if region is None:
                raise KeyError(f"no memory at {address:#010x}")
            length = min(size, region.end - address)
            if region.buffer is not None and region.buffer in self._shadow:
                at = region.at(address)
                parts.append(self._shadow[region.buffer].array[at : at + length])
            address, size = address + length, size - length
        return parts


def _kind(is_store: bool, have: int) -> str:
    if is_store:
        return "write"
    return "uninitialised" if have & READ else "read"
