"""Memory that the guest allocates: blocks between guard zones, at every alignment that the chip may give.

ESP-IDF's malloc promises 4-byte alignment and nothing about contents: a block lies at any of the four places
modulo 16 and is full of noise, both by ``rom.seed``. Bytes around it that change, blocks that are freed twice
and blocks that stay are found.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from emu.cpu.engine import Engine
from emu.cpu.map import PSRAM_LIMIT, PSRAM_START
from emu.cpu.memory import Region
from emu.cpu.shadow import INIT, READ, WRITE
from emu.image.location import Location

GUARD = 64
HEAP_BYTES = 1 << 20
HEAP_START = PSRAM_START + PSRAM_LIMIT - HEAP_BYTES
ALIGNMENT = 4
_FREED = 0xDF


class OutOfMemory(Exception):
    """No room for a block; malloc gives 0."""


@dataclass(frozen=True)
class Block:
    """``size`` bytes at ``address``; ``caller``: who asked for it; ``guard`` seeds the bytes around it."""

    address: int
    size: int
    caller: Location
    guard: int

    def __str__(self) -> str:
        return f"{self.size} bytes at {self.address:#010x}, allocated in {self.caller}"


def heap_region(engine: Engine) -> Region | None:
    """Where the heap lies in the engine's memory, mapped when it is not there yet; None without room."""
    region = engine.memory.find(HEAP_START)
    if region is None:
        return engine.memory.add_ram("heap", HEAP_START, HEAP_BYTES)
    return region if region.name == "heap" else None


def _noise(seed: int, size: int) -> bytes:
    return np.random.Generator(np.random.Philox(key=np.array([seed, 0x68656170], np.uint64))).bytes(size)


class Heap:
    """The heap of one engine, empty when made. ``live``: blocks by address."""

    def __init__(self, engine: Engine, seed: int) -> None:
        self._engine = engine
        self._seed = seed & (1 << 64) - 1
        self._region = heap_region(engine)
        self._next = HEAP_START
        self._count = 0
        self.live: dict[int, Block] = {}
        self.freed: dict[int, Block] = {}
        if engine.memory.shadow.enabled and self._region is not None:
            engine.memory.shadow.deny(HEAP_START, HEAP_BYTES)

    def allocate(self, size: int, caller: Location, align: int = ALIGNMENT, zeroed: bool = False) -> int:
        """The address of a new block. Raises OutOfMemory."""
        self._count += 1
        seed = (self._seed + self._count * 0x9E3779B97F4A7C15) & (1 << 64) - 1
        address = -(-(self._next + GUARD) // max(align, 16)) * max(align, 16)
        if align < 16:
            address += align * (seed >> 17) % 16
        end = address + size + GUARD
        if self._region is None or end > HEAP_START + HEAP_BYTES:
            raise OutOfMemory
        memory = self._engine.memory
        memory.write(address - GUARD, _noise(seed, size + 2 * GUARD))
        if zeroed:
            memory.write(address, bytes(size))
        if memory.shadow.enabled and size:
            memory.shadow.allow(address, size, READ | WRITE | (INIT if zeroed else 0))
        self._next = end
        self.freed.pop(address, None)
        self.live[address] = Block(address, size, caller, seed)
        return address

    def reserve(self, size: int) -> int:
        """Zeroed memory of the system itself, which nobody frees. Raises OutOfMemory."""
        address = self.allocate(size, Location(0, "the system"), 8, zeroed=True)
        del self.live[address]
        return address

    def free(self, address: int) -> str:
        """Give a block back; what is wrong with it, "" when nothing is."""
        block = self.live.pop(address, None)
        if block is None:
            return self._unknown(address)
        wrong = self._damage(block)
        memory = self._engine.memory
        memory.write(block.address, bytes([_FREED]) * block.size)
        if memory.shadow.enabled and block.size:
            memory.shadow.deny(block.address, block.size)
        self.freed[address] = block
        return wrong

    def _unknown(self, address: int) -> str:
        if address in self.freed:
            return f"{address:#010x} is freed a second time: {self.freed[address]}"
        inside = next((b for b in self.live.values() if b.address <= address < b.address + b.size), None)
        if inside is not None:
            return f"{address:#010x} is byte {address - inside.address} of a block, not its start: {inside}"
        return f"{address:#010x} was not allocated"

    def damage(self) -> Iterator[str]:
        """What was written around the live blocks, and into freed ones."""
        for block in self.live.values():
            wrong = self._damage(block)
            if wrong:
                yield wrong
        for block in self.freed.values():
            if self._engine.memory.read(block.address, block.size).strip(bytes([_FREED])):
                yield f"a freed block was written: {block}"

    def _damage(self, block: Block) -> str:
        start, size = block.address - GUARD, block.size
        expected = np.frombuffer(_noise(block.guard, size + 2 * GUARD), np.uint8)
        actual = np.frombuffer(self._engine.memory.read(start, size + 2 * GUARD), np.uint8)
        changed = np.flatnonzero(expected != actual)
        before, behind = changed[changed < GUARD], changed[changed >= GUARD + size]
        if before.size:
            return (
                f"{before.size} bytes before a block were written, up to {GUARD - before[0]} before: {block}"
            )
        if behind.size:
            first = int(behind[0]) - GUARD - size
            return f"{behind.size} bytes behind a block were written, first {first} behind its end: {block}"
        return ""
