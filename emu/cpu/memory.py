"""Guest memory: regions of host bytes, page tables for translated code, and the checked slow path.

A :class:`Region` is a page-granular range of guest addresses backed by part of one host buffer (an alias
backs two ranges by the same bytes) or by a :class:`Device`. Two page tables of 2**20 int64 entries, at
addresses that never change, give for every 4 KiB page ``host address - guest address``, 0 where an access
must take the slow path (:meth:`Memory.load`, :meth:`Memory.store`): not mapped, devices, no permission,
pages with translated code. An access that crosses a page must take the slow path too unless both pages have
the same entry.
"""

from __future__ import annotations

import ctypes
import mmap
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from emu.cpu.map import DEVICES, NOWHERE, PAGE, PAGE_BITS, PAGES, describe
from emu.cpu.shadow import BoundsFault, Shadow

MASK32 = 0xFFFFFFFF


DIRECT_WORDS = 2
"""Behind each page table: a native function for single accesses to devices, and its context."""


class MemoryFault(Exception):
    """An access that the memory refuses. ``kind``: unmapped, protection, device, read, write, uninitialised.

    "device": a register of a peripheral that nobody models. The last three come from the byte-exact
    permission map. ``access``: load, store or fetch. ``address`` and
    ``size`` are those of the access, ``byte`` is the first address that is refused, ``where`` names its area.
    """

    def __init__(self, kind: str, access: str, address: int, size: int, byte: int, where: str) -> None:
        super().__init__(kind, access, address, size, byte, where)
        self.kind = kind
        self.access = access
        self.address = address
        self.size = size
        self.byte = byte
        self.where = where

    def __str__(self) -> str:
        return self.sentence()

    def sentence(self) -> str:
        """What was tried and why it was refused."""
        where = "" if self.where == NOWHERE else f" ({self.where})"
        what = f"{self.access} of {self.size} byte{'s' * (self.size > 1)} at {self.address:#010x}{where}"
        if self.byte != self.address:
            what += f", from byte {self.byte:#010x} on"
        return f"{what}: {_WHY[self.kind]}"


_WHY = {
    "unmapped": "no memory is mapped there",
    "protection": "the memory does not allow it",
    "device": "nothing models this register of the chip",
    "read": "outside of what the function may read",
    "write": "outside of what the function may write",
    "uninitialised": "it was never written",
}


class Device(Protocol):
    """What a device region calls: ``size`` is 1, 2, 4, 8 or 16 bytes, values are unsigned integers."""

    def read(self, address: int, size: int) -> int:
        """Value of the register at the guest address."""

    def write(self, address: int, size: int, value: int) -> None:
        """Write the register at the guest address."""


class Buffer:
    """Zeroed host bytes at a page-aligned address that never moves; pages are taken when first touched.

    ``is_guarded``: the host pages on both sides cannot be touched, so that host code that leaves the buffer
    ends the process instead of changing something else.
    """

    def __init__(self, size: int, is_guarded: bool = False) -> None:
        self.size = size
        guard = GUARD if is_guarded else 0
        self._map = mmap.mmap(-1, size + 2 * guard)
        self.view = memoryview(self._map)[guard : guard + size]
        self.array: np.ndarray[Any, np.dtype[np.uint8]] = np.frombuffer(self.view, np.uint8)
        self.address = int(self.array.ctypes.data)
        if guard:
            forbid(self.address - guard, guard)
            forbid(self.address + size, guard)


GUARD = 1 << 16
"""Bytes that cannot be touched on either side of a guarded buffer."""


def forbid(address: int, size: int) -> None:
    """Make host pages inaccessible for good. Raises OSError where the system cannot."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mprotect(ctypes.c_void_p(address), ctypes.c_size_t(size), 0):
        raise OSError(ctypes.get_errno(), "mprotect: the pages around guest memory cannot be protected")


@dataclass(frozen=True, eq=False)
class Region:
    """Guest addresses ``start .. start + size - 1``; ``perms`` any of "r", "w", "x"."""

    name: str
    start: int
    size: int
    perms: str
    buffer: Buffer | None = None
    offset: int = 0
    device: Device | None = None
    shadowed: bool = False
    """Takes part in the byte-exact permission map."""

    @property
    def end(self) -> int:
        """First address after the region."""
        return self.start + self.size

    def at(self, address: int) -> int:
        """Offset in the buffer of a guest address."""
        return address - self.start + self.offset


CodeHook = Callable[[int, int], None]


class Memory:
    """The guest's address space. Addresses wrap at 2**32; every access is little-endian."""

    def __init__(self, is_guarded: bool = False) -> None:
        """``is_guarded``: every buffer lies between host pages that cannot be touched."""
        self._tables = (np.zeros(PAGES + DIRECT_WORDS, np.int64), np.zeros(PAGES + DIRECT_WORDS, np.int64))
        self.read_pages: np.ndarray[Any, np.dtype[np.int64]] = self._tables[0][:PAGES]
        self.write_pages: np.ndarray[Any, np.dtype[np.int64]] = self._tables[1][:PAGES]
        self.shadow = Shadow(self)
        self.layout_version = 0
        """Counts the changes of the page tables, for whoever keeps what they say."""
        self.is_guarded = is_guarded
        self.unmodelled: Device | None = None
        """Answers for device registers that no region models; without it they fault."""
        self._code_hooks: list[CodeHook] = []
        self._regions: list[Region] = []
        self._starts: list[int] = []
        self._page_region: dict[int, Region] = {}
        self._code_pages: set[int] = set()

    # --- layout -------------------------------------------------------------------------------------
    @property
    def regions(self) -> tuple[Region, ...]:
        """All regions in order of their addresses."""
        return tuple(self._regions)

    def add_ram(
        self,
        name: str,
        start: int,
        size: int,
        perms: str = "rw",
        buffer: Buffer | None = None,
        offset: int = 0,
    ) -> Region:
        """Map ``size`` bytes at ``start`` (both multiples of 4096), on a new buffer or as an alias of
        ``buffer``.

        Raises ValueError when it overlaps another region, is not page-granular or exceeds the buffer.
        """
        _check_range(name, start, size)
        backing = self.new_buffer(size) if buffer is None else buffer
        if offset % PAGE or offset + size > backing.size:
            raise ValueError(f"region {name}: offset {offset:#x}, size {size:#x} do not fit its buffer")
        return self._add(Region(name, start, size, perms, backing, offset, shadowed=True))

    def new_buffer(self, size: int) -> Buffer:
        """Zeroed host bytes for regions that share them."""
        return Buffer(size, self.is_guarded)

    def add_device(self, name: str, start: int, size: int, device: Device) -> Region:
        """Map a device at ``start`` (page-granular). Raises ValueError as :meth:`add_ram`."""
        return self._add(Region(name, start, size, "rw", device=device))

    def set_direct(self, load: int, store: int, context: int) -> None:
        """Let native functions answer single accesses of translated code that the page tables do not cover.

        ``load`` and ``store``: host addresses of ``int64 f(int64 context, uint32 address, uint32 size, int64
        budget)``, which give the host offset at which the access is then made (a load finds the register's
        value there; what a store leaves there the function collects later), or 0 to leave it to the stepper
        and the region's Device. ``budget``: instructions left in front of this one. 0 for no function.
        """
        for table, function in zip(self._tables, (load, store), strict=True):
            table[PAGES] = function
            table[PAGES + 1] = context

    def _add(self, region: Region) -> Region:
        _check_range(region.name, region.start, region.size)
        for other in self._regions:
            if region.start < other.end and other.start < region.end:
                raise ValueError(f"region {region.name} overlaps region {other.name}")
        place = bisect_right(self._starts, region.start)
        self._starts.insert(place, region.start)
        self._regions.insert(place, region)
        self._map_pages(region)
        self.shadow.region_added(region)
        return region

    def remove(self, region: Region) -> None:
        """Unmap a region; its buffer keeps its bytes. Raises ValueError for one that is not mapped."""
        self._touch_code(region.start, region.size)
        place = self._regions.index(region)
        del self._regions[place], self._starts[place]
        pages = slice(region.start >> PAGE_BITS, region.end >> PAGE_BITS)
        self.layout_version += 1
        self.read_pages[pages] = self.write_pages[pages] = 0
        for page in range(pages.start, pages.stop):
            self._page_region.pop(page, None)
            self._code_pages.discard(page)
        self.shadow.region_removed(region)

    def resize(self, region: Region, size: int) -> Region:
        """Show ``size`` bytes of a region's buffer from now on, more or fewer; returns the new region.

        Raises ValueError when it is not page-granular, exceeds the buffer or reaches the next region.
        """
        _check_range(region.name, region.start, size)
        place = self._regions.index(region)
        resized = replace(region, size=size)
        following = self._starts[place + 1] if place + 1 < len(self._starts) else 1 << 32
        if region.buffer is None or region.offset + size > region.buffer.size or resized.end > following:
            raise ValueError(f"region {region.name}: there is no room for {size:#x} bytes")
        self._touch_code(region.start, region.size)
        self._regions[place] = resized
        self._page_region = {page: r for page, r in self._page_region.items() if r is not region}
        self.layout_version += 1
        gone = slice(resized.end >> PAGE_BITS, region.end >> PAGE_BITS)
        self.read_pages[gone] = self.write_pages[gone] = 0
        if size < region.size:
            self.shadow.region_removed(replace(region, start=resized.end, size=region.end - resized.end))
        else:
            self._map_pages(resized)
            self.shadow.region_added(resized)
        return resized

    def _map_pages(self, region: Region) -> None:
        if region.buffer is None:
            return
        self.layout_version += 1
        delta = region.buffer.address + region.offset - region.start
        pages = slice(region.start >> PAGE_BITS, region.end >> PAGE_BITS)
        if "r" in region.perms:
            self.read_pages[pages] = delta
        if "w" in region.perms:
            self.write_pages[pages] = delta
            for page in self._code_pages.intersection(range(pages.start, pages.stop)):
                self.write_pages[page] = 0

    def find(self, address: int) -> Region | None:
        """The region that holds a guest address, or None."""
        page = address >> PAGE_BITS
        region = self._page_region.get(page)
        if region is None:
            place = bisect_right(self._starts, address) - 1
            if place < 0 or address >= self._regions[place].end:
                return None
            region = self._page_region[page] = self._regions[place]
        return region

    # --- access by the guest ------------------------------------------------------------------------
    def load(self, address: int, size: int) -> int:
        """``size`` bytes at any alignment as an unsigned integer. Raises MemoryFault."""
        region = self._page_region.get(address >> PAGE_BITS) or self.find(address)
        if region is None or "r" not in region.perms:
            if region is None and self._is_unmodelled(address):
                return self.unmodelled.read(address, size)  # type: ignore[union-attr]
            raise self._fault(region, "load", address, size)
        if address + size > region.end:
            return self._load_across(address, size)
        if self.shadow.enabled:
            self._check(address, size, "load")
        if region.buffer is None:
            return _device(region).read(address, size)
        at = address - region.start + region.offset
        return int.from_bytes(region.buffer.view[at : at + size], "little")

    def store(self, address: int, size: int, value: int) -> None:
        """Store the low ``size`` bytes of ``value``; nothing is written when any byte faults.

        Raises MemoryFault.
        """
        region = self._page_region.get(address >> PAGE_BITS) or self.find(address)
        if region is None or "w" not in region.perms:
            if region is None and self._is_unmodelled(address):
                self.unmodelled.write(address, size, value)  # type: ignore[union-attr]
                return
            raise self._fault(region, "store", address, size)
        if address + size > region.end:
            self._store_across(address, size, value)
            return
        if self.shadow.enabled:
            self._check(address, size, "store")
        if region.buffer is None:
            _device(region).write(address, size, value)
            return
        if self._code_pages:
            self._touch_code(address, size)
        at = address - region.start + region.offset
        region.buffer.view[at : at + size] = value.to_bytes(size, "little")
        if self.shadow.enabled:
            self.shadow.mark_written(address, size)

    def _is_unmodelled(self, address: int) -> bool:
        return self.unmodelled is not None and DEVICES.start <= address < DEVICES.end

    def fetch(self, address: int, size: int) -> bytes:
        """``size`` instruction bytes.

        Raises MemoryFault; the caller asks for no more than the instruction has.
        """
        region = self._page_region.get(address >> PAGE_BITS) or self.find(address)
        if region is None or "x" not in region.perms or region.buffer is None:
            raise self._fault(region, "fetch", address, size)
        if address + size > region.end:
            first = region.end - address
            return self.fetch(address, first) + self.fetch(region.end & MASK32, size - first)
        at = address - region.start + region.offset
        return bytes(region.buffer.view[at : at + size])

    def _load_across(self, address: int, size: int) -> int:
        value = 0
        for i in range(size):
            try:
                value |= self.load((address + i) & MASK32, 1) << 8 * i
            except MemoryFault as fault:
                raise MemoryFault(fault.kind, "load", address, size, fault.byte, fault.where) from None
        return value

    def _store_across(self, address: int, size: int, value: int) -> None:
        for i in range(size):
            self._check_writable((address + i) & MASK32, address, size)
        for i in range(size):
            self.store((address + i) & MASK32, 1, value >> 8 * i & 0xFF)

    def _check_writable(self, byte: int, address: int, size: int) -> None:
        region = self.find(byte)
        if region is None or "w" not in region.perms:
            raise self._fault(region, "store", address, size, byte)
        if self.shadow.enabled:
            try:
                self._check(byte, 1, "store")
            except MemoryFault as fault:
                raise MemoryFault(fault.kind, "store", address, size, byte, fault.where) from None

    def _fault(
        self, region: Region | None, access: str, address: int, size: int, byte: int | None = None
    ) -> MemoryFault:
        byte = address if byte is None else byte
        kind = "unmapped" if region is None else "protection"
        if region is None and access != "fetch" and DEVICES.start <= byte < DEVICES.end:
            kind = "device"
        return MemoryFault(kind, access, address, size, byte, region.name if region else describe(byte))

    def _check(self, address: int, size: int, access: str) -> None:
        try:
            self.shadow.check(address, size, access == "store")
        except BoundsFault as fault:
            if self.shadow.report is not None:
                self.shadow.report(fault, address, size, access)
                return
            region = self.find(fault.address)
            where = region.name if region else describe(fault.address)
            raise MemoryFault(fault.kind, access, address, size, fault.address, where) from None

    # --- access by the host ---------------------------------------------------------------------------
    def read(self, address: int, size: int) -> bytes:
        """Copy of guest bytes, whatever the permissions. Raises MemoryFault where nothing is mapped."""
        parts = []
        for region, start, length in self._spans(address, size, "load"):
            at = region.at(start)
            parts.append(bytes(_buffer(region).view[at : at + length]))
        return b"".join(parts)

    def write(self, address: int, data: bytes | bytearray | memoryview) -> None:
        """Put bytes into guest memory, whatever the permissions.

        Raises MemoryFault where nothing is mapped.
        """
        source = memoryview(data).cast("B") if isinstance(data, memoryview) else memoryview(data)
        done = 0
        for region, start, length in self._spans(address, len(source), "store"):
            self._touch_code(start, length)
            at = region.at(start)
            _buffer(region).view[at : at + length] = source[done : done + length]
            self.shadow.mark_written(start, length)
            done += length

    def view(self, address: int, size: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
        """The live host bytes of a range inside one region, as uint8 [size]. Raises MemoryFault.

        Writing through it bypasses permissions and the code hook: for data only.
        """
        spans = self._spans(address, size, "load")
        if len(spans) != 1:
            raise MemoryFault("unmapped", "load", address, size, address, "spans more than one region")
        region, start, length = spans[0]
        at = region.at(start)
        return _buffer(region).array[at : at + length]

    def _spans(self, address: int, size: int, access: str) -> list[tuple[Region, int, int]]:
        spans = []
        while size > 0:
            region = self.find(address & MASK32)
            if region is None or region.buffer is None:
                raise self._fault(region, access, address & MASK32, size)
            length = min(size, region.end - address)
            spans.append((region, address, length))
            address, size = address + length, size - length
        return spans

    # --- translated code ----------------------------------------------------------------------------
    def add_code_hook(self, hook: CodeHook) -> None:
        """Call ``hook`` with (address, size) before a store to a page that :meth:`watch_code` named."""
        self._code_hooks.append(hook)

    def watch_code(self, page: int) -> None:
        """Call the code hook before any store to guest page number ``page`` or to an alias of it."""
        self.layout_version += 1
        for alias in self.aliases(page):
            self._code_pages.add(alias)
            self.write_pages[alias] = 0

    def unwatch_code(self, page: int) -> None:
        """Undo :meth:`watch_code`: stores to the page and its aliases are fast again."""
        self.layout_version += 1
        for alias in self.aliases(page):
            self._code_pages.discard(alias)
            region = self.find(alias << PAGE_BITS)
            if region is not None and region.buffer is not None and "w" in region.perms:
                self.write_pages[alias] = region.buffer.address + region.offset - region.start

    def is_watched(self, page: int) -> bool:
        """True while stores to the guest page call the code hook."""
        return page in self._code_pages

    def aliases(self, page: int) -> list[int]:
        """All guest page numbers that show the same bytes as ``page``, itself included."""
        region = self.find(page << PAGE_BITS)
        if region is None or region.buffer is None:
            return [page]
        at = region.at(page << PAGE_BITS)
        same = [r for r in self._regions if r.buffer is region.buffer and r.offset <= at < r.offset + r.size]
        return [(at - r.offset + r.start) >> PAGE_BITS for r in same]

    def _touch_code(self, address: int, size: int) -> None:
        pages = range(address >> PAGE_BITS, ((address + size - 1) >> PAGE_BITS) + 1)
        if not self._code_pages.isdisjoint(pages):
            for hook in self._code_hooks:
                hook(address, size)

    def code_changes(self, address: int, size: int) -> None:
        """What is translated from these bytes is not valid any more, for a reason outside of memory."""
        self._touch_code(address, size)

    # --- addresses for translated code -----------------------------------------------------------------
    @property
    def read_pages_address(self) -> int:
        """Host address of the read page table."""
        return int(self.read_pages.ctypes.data)

    @property
    def write_pages_address(self) -> int:
        """Host address of the write page table."""
        return int(self.write_pages.ctypes.data)


def _check_range(name: str, start: int, size: int) -> None:
    if start % PAGE or size % PAGE or size <= 0 or not 0 <= start <= (1 << 32) - size:
        raise ValueError(f"region {name}: start and size must be multiples of {PAGE} below 2**32")


def host_bytes(address: int, size: int) -> bytes:
    """Bytes at a host address; for tests of the page tables."""
    return ctypes.string_at(address, size)


def _buffer(region: Region) -> Buffer:
    if region.buffer is None:
        raise MemoryFault("protection", "load", region.start, region.size, region.start, region.name)
    return region.buffer


def _device(region: Region) -> Device:
    if region.device is None:
        raise MemoryFault("protection", "load", region.start, region.size, region.start, region.name)
    return region.device
