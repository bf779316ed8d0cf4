"""Guest memory as a served function may touch it: refused exactly where the guest's own code would be."""

from __future__ import annotations

from emu.cpu.memory import Memory, MemoryFault
from emu.cpu.shadow import BoundsFault
from emu.image.map import describe

MASK32 = 0xFFFFFFFF


def check(memory: Memory, address: int, size: int, access: str) -> None:
    """``access``: "load" or "store". Raises MemoryFault that names the first byte that is refused."""
    at, left = address, size
    while left > 0:
        region = memory.find(at & MASK32)
        if region is None or region.buffer is None:
            raise MemoryFault("unmapped", access, address, size, at & MASK32, describe(at & MASK32))
        if ("w" if access == "store" else "r") not in region.perms:
            raise MemoryFault("protection", access, address, size, at, region.name)
        length = min(left, region.end - at)
        at, left = at + length, left - length
    if size and memory.shadow.enabled:
        _check_bounds(memory, address, size, access)


def _check_bounds(memory: Memory, address: int, size: int, access: str) -> None:
    try:
        memory.shadow.check(address, size, access == "store")
    except BoundsFault as fault:
        if memory.shadow.report is not None:
            memory.shadow.report(fault, address, size, access)
            return
        region = memory.find(fault.address)
        where = region.name if region else describe(fault.address)
        raise MemoryFault(fault.kind, access, address, size, fault.address, where) from None


def read(memory: Memory, address: int, size: int) -> bytes:
    """Bytes that the guest may read. Raises MemoryFault."""
    check(memory, address, size, "load")
    return memory.read(address, size) if size else b""


def write(memory: Memory, address: int, data: bytes) -> None:
    """Store bytes where the guest may. Raises MemoryFault; then nothing is written."""
    check(memory, address, len(data), "store")
    if data:
        memory.write(address, data)


def string(memory: Memory, address: int, limit: int) -> bytes:
    """Bytes up to a 0, at most ``limit``. Raises MemoryFault for the first byte that may not be read."""
    found = bytearray()
    while len(found) < limit:
        at = (address + len(found)) & MASK32
        size = min(64 - at % 64, limit - len(found))
        part = _as_far_as_possible(memory, at, size)
        end = part.find(b"\0")
        if end >= 0:
            return bytes(found + part[:end])
        found += part
    return bytes(found)


def _as_far_as_possible(memory: Memory, address: int, size: int) -> bytes:
    """``size`` bytes at once, or one: a string may end right before memory that may not be read."""
    if not memory.shadow.enabled or memory.shadow.report is None:
        try:
            return read(memory, address, size)
        except MemoryFault:
            pass
    return read(memory, address, 1)
