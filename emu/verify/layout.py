"""Buffers of one case inside an arena: guard bytes around each, pattern-filled, checked after the call.

Both targets use the same layout, so a mirror and a firmware function see equal addresses modulo 64, equal
neighbours and equal bytes in outputs that nobody has written yet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod

import numpy as np

from emu.kernels.spec import Kernel, Tensor
from emu.verify.case import Case
from emu.verify.errors import ToolError
from emu.verify.families import Array
from emu.verify.shapes import shape_of, tensors

GUARD = 64
LEAD = 1024
TAIL = 4096
PAGE = 4096
"""The bytes used are whole pages of guest memory, so that nothing has to be mapped behind them."""
_PATTERN_SHIFTS = 4096


@dataclass(frozen=True)
class Slot:
    """Place of one tensor: byte offset in the arena and length in bytes."""

    tensor: Tensor
    start: int
    size: int

    @property
    def end(self) -> int:
        """First byte behind the buffer."""
        return self.start + self.size


@dataclass(frozen=True)
class Block:
    """Place of bytes that belong to no tensor: a struct. ``align`` up to 16."""

    name: str
    size: int
    align: int
    start: int = 0

    @property
    def end(self) -> int:
        """First byte behind the block."""
        return self.start + self.size


@dataclass(frozen=True)
class Damage:
    """Bytes changed that the function does not own: ``side`` of tensor ``near`` (before, after, or inside an
    input).
    """

    near: str
    side: str
    offset: int
    count: int

    def __str__(self) -> str:
        bytes_ = f"{self.count} byte{'s' if self.count != 1 else ''}"
        if self.side == "inside":
            return f"{bytes_} of input {self.near} changed, first at byte {self.offset}"
        if self.side == "before":
            return f"{bytes_} before {self.near} changed, first {self.offset} bytes before it"
        return f"{bytes_} behind {self.near} changed, first {self.offset} bytes behind its end"


@lru_cache(maxsize=4)
def _pattern(size: int) -> Array:
    rng = np.random.Generator(np.random.Philox(key=np.array([0x6775617264, 0], np.uint64)))
    return np.frombuffer(rng.bytes(size + _PATTERN_SHIFTS), np.uint8)


def place(kernel: Kernel, case: Case) -> tuple[list[Slot], int]:
    """Slots of all tensors, with gaps that depend on the case, and the bytes used in total."""
    slots = []
    position = LEAD
    for i, tensor in enumerate(tensors(kernel)):
        base = max(16, min(tensor.align, 64))
        gap = GUARD + 16 * (case.dirty >> (4 * i + 12) & 3)
        start = -(-(position + gap) // base) * base + case.offsets[tensor.name]
        size = prod(shape_of(kernel, tensor, case.dims)) * np.dtype(tensor.dtype).itemsize
        slots.append(Slot(tensor, start, size))
        position = start + size
    return slots, -(-(position + TAIL) // PAGE) * PAGE


def place_blocks(blocks: Sequence[Block], position: int, dirty: int) -> tuple[dict[str, Block], int]:
    """Blocks from ``position`` on, at any multiple of 4 modulo 16 that their alignment allows; bytes used."""
    placed = {}
    for i, block in enumerate(blocks):
        step = max(block.align, 4)
        start = -(-(position + GUARD) // 16) * 16 + (dirty >> (3 * i + 20)) % (16 // step) * step
        placed[block.name] = replace(block, start=start)
        position = start + block.size
    return placed, position if not blocks else -(-(position + TAIL) // PAGE) * PAGE


class Layout:
    """One case placed in ``arena`` (flat uint8, 64-byte aligned in its own address space)."""

    def __init__(self, kernel: Kernel, case: Case, arena: Array, blocks: Sequence[Block] = ()) -> None:
        """``blocks``: structs, placed behind the tensors; their bytes come from :meth:`put`."""
        self.slots, used = place(kernel, case)
        self.blocks, self.used = place_blocks(blocks, used - TAIL if blocks else used, case.dirty)
        self._put: dict[str, bytes] = {}
        if self.used > arena.size:
            raise ToolError(
                f"kernel {kernel.symbol}: its buffers need {self.used:,} bytes, the arena has {arena.size:,}"
            )
        self._arena = arena
        shift = case.dirty % _PATTERN_SHIFTS
        self._pattern = _pattern(arena.size)[shift : shift + self.used]
        arena[: self.used] = self._pattern
        self._inputs: Mapping[str, Array] = case.arrays
        for slot in self.slots:
            if slot.size and slot.tensor.role != "out":
                arena[slot.start : slot.end] = case.arrays[slot.tensor.name].view(np.uint8)

    def put(self, name: str, data: bytes) -> int:
        """Fill a block; its offset in the arena. It must hold the same bytes after the call."""
        block = self.blocks[name]
        self._arena[block.start : block.end] = np.frombuffer(data, np.uint8)
        self._put[name] = data
        return block.start

    def excuse(self, name: str, start: int, size: int) -> None:
        """Bytes of a block that the function may change: they are what they are now."""
        block = self.blocks.get(name)
        if block is not None and size:
            now = self._arena[block.start + start : block.start + start + size].tobytes()
            self._put[name] = self._put[name][:start] + now + self._put[name][start + size :]

    def view(self, slot: Slot) -> Array:
        """The tensor in the arena, flat, with its own dtype."""
        dtype = np.dtype(slot.tensor.dtype)
        # not by slicing: an empty slice would forget the address, which alignment checks look at
        return np.ndarray((slot.size // dtype.itemsize,), dtype, buffer=self._arena.data, offset=slot.start)

    def outputs(self) -> dict[str, Array]:
        """Copies of all tensors that the function may write."""
        return {s.tensor.name: self.view(s).copy() for s in self.slots if s.tensor.role != "in"}

    def damage(self) -> tuple[Damage, ...]:
        """Changed bytes outside the outputs; empty when all is well."""
        expected = self._arena[: self.used].copy()
        position = 0
        for slot in self.slots:
            expected[position : slot.start] = self._pattern[position : slot.start]
            if slot.tensor.role == "in" and slot.size:
                expected[slot.start : slot.end] = self._inputs[slot.tensor.name].view(np.uint8)
            position = slot.end
        expected[position:] = self._pattern[position:]
        for name, data in self._put.items():
            block = self.blocks[name]
            expected[block.start : block.end] = np.frombuffer(data, np.uint8)
        if np.array_equal(expected, self._arena[: self.used]):
            return ()
        return tuple(self._describe(np.flatnonzero(expected != self._arena[: self.used])))

    def _describe(self, changed: Array) -> list[Damage]:
        found = []
        position = 0
        for i, slot in enumerate(self.slots):
            inside = changed[(changed >= slot.start) & (changed < slot.end)]
            if inside.size:
                found.append(Damage(slot.tensor.name, "inside", int(inside[0]) - slot.start, inside.size))
            before = changed[(changed >= position) & (changed < slot.start)]
            middle = (position + slot.start) // 2 if i else 0
            near_this = before[before >= middle]
            if near_this.size:
                found.append(
                    Damage(slot.tensor.name, "before", slot.start - int(near_this[-1]), near_this.size)
                )
            near_last = before[before < middle]
            if near_last.size:
                last = self.slots[i - 1]
                found.append(Damage(last.tensor.name, "after", int(near_last[0]) - last.end, near_last.size))
            position = slot.end
        for block in self.blocks.values():
            inside = changed[(changed >= block.start) & (changed < block.end)]
            if inside.size:
                found.append(Damage(block.name, "inside", int(inside[0]) - block.start, inside.size))
            changed = changed[(changed < block.start) | (changed >= block.end)]
        behind = changed[changed >= position]
        if behind.size and self.slots:
            found.append(Damage(self.slots[-1].tensor.name, "after", int(behind[0]) - position, behind.size))
        return found
