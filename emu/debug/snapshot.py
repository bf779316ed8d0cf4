"""Keeping and restoring a whole machine: the processor and every writable byte."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from emu.cpu import state_tools
from emu.cpu.engine import Engine
from emu.cpu.map import PAGE
from emu.cpu.memory import Buffer, Memory, Region

Bytes = np.ndarray[Any, np.dtype[np.uint8]]


class Snapshot:
    """A copy of an engine's state and memory. Diagnostics and the permission map are not part of it."""

    def __init__(self, engine: Engine) -> None:
        self.state = state_tools.copy(engine.state)
        self.buffers = {region.name: buffer.array.copy() for region, buffer in buffers(engine.memory)}

    def restore(self, engine: Engine) -> None:
        """Put everything back; only pages that changed are written, so translated code stays valid."""
        for region, buffer in buffers(engine.memory):
            saved = self.buffers[region.name]
            for page in changed_pages(buffer.array, saved):
                at = page * PAGE
                address = region.start - region.offset + at
                engine.memory.write(address, saved[at : at + PAGE].tobytes())
        state_tools.restore(engine.state, self.state)


def buffers(memory: Memory) -> Iterator[tuple[Region, Buffer]]:
    """Each host buffer that the guest can write, once, with a region that shows all of it."""
    seen: set[int] = set()
    for region in memory.regions:
        buffer = region.buffer
        if buffer is None or buffer.address in seen or region.size < buffer.size:
            continue
        if any("w" in r.perms for r in memory.regions if r.buffer is buffer):
            seen.add(buffer.address)
            yield region, buffer


def changed_pages(a: Bytes, b: Bytes) -> list[int]:
    """Numbers of the pages that differ between two equally long buffers."""
    if np.array_equal(a, b):
        return []
    return [int(i) for i in np.flatnonzero((a != b).reshape(-1, PAGE).any(axis=1))]


def memory_differences(a: Engine, b: Engine, limit: int = 64) -> list[tuple[int, int, int]]:
    """(guest address, byte in a, byte in b) of the first ``limit`` writable bytes that differ."""
    found: list[tuple[int, int, int]] = []
    others = {region.name: buffer for region, buffer in buffers(b.memory)}
    for region, buffer in buffers(a.memory):
        other = others[region.name]
        if np.array_equal(buffer.array, other.array):
            continue
        for at in np.flatnonzero(buffer.array != other.array)[: limit - len(found)]:
            address = region.start - region.offset + int(at)
            found.append((address, int(buffer.array[at]), int(other.array[at])))
    return found
