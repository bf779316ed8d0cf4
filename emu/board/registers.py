"""A block of device registers: what is modelled has a method, what only holds a value is named, the rest is
logged once for each register and direction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from emu.cpu.memory import Memory

MASK32 = 0xFFFFFFFF
Reader = Callable[[], int]
Writer = Callable[[int], None]


class Registers:
    """Words at ``base``. Subclasses fill ``readers``, ``writers`` (by offset) and ``plain``.

    ``values``: what was written last, at first the reset values. A register of ``plain`` keeps what is
    written and nothing else depends on it here. Accesses of 1 and 2 bytes take part of a word, as on the bus.
    """

    def __init__(self, base: int, resets: Mapping[int, int] | None = None, plain: Iterable[int] = ()) -> None:
        self.base = base
        self.resets = dict(resets or {})
        self.values: dict[int, int] = dict(self.resets)
        self.plain = frozenset(plain)
        self.readers: dict[int, Reader] = {}
        self.writers: dict[int, Writer] = {}
        self.memory: Memory | None = None

    def reset(self) -> None:
        """All registers as after a reset of the chip."""
        self.values = dict(self.resets)

    def get(self, offset: int) -> int:
        """A register as the guest reads it."""
        reader = self.readers.get(offset)
        if reader is not None:
            return reader() & MASK32
        if offset not in self.plain and offset not in self.writers:
            self._unknown(offset, None)
        return self.values.get(offset, 0)

    def set(self, offset: int, value: int) -> None:
        """A register as the guest writes it."""
        writer = self.writers.get(offset)
        if writer is not None:
            writer(value)
            return
        if offset in self.readers and offset not in self.plain:
            return  # read-only
        if offset not in self.plain:
            self._unknown(offset, value)
        self.values[offset] = value

    def _unknown(self, offset: int, value: int | None) -> None:
        device = self.memory.unmodelled if self.memory is not None else None
        if device is None:
            return
        if value is None:
            device.read(self.base + offset, 4)
        else:
            device.write(self.base + offset, 4, value)

    # --- as a Device --------------------------------------------------------------------------------------
    def read(self, address: int, size: int) -> int:
        """Words and parts of words."""
        if size > 4:
            low = self.read(address, 4)
            return low | self.read(address + 4, size - 4) << 32
        offset = address - self.base
        word = self.get(offset & ~3)
        return word >> 8 * (offset & 3) & ((1 << 8 * size) - 1)

    def write(self, address: int, size: int, value: int) -> None:
        """Words; a part of a word leaves the rest as it was written last."""
        if size > 4:
            self.write(address, 4, value & MASK32)
            self.write(address + 4, size - 4, value >> 32)
            return
        offset = address - self.base
        if size < 4:
            shift = 8 * (offset & 3)
            mask = ((1 << 8 * size) - 1) << shift
            value = self.values.get(offset & ~3, 0) & ~mask | value << shift & mask
        self.set(offset & ~3, value & MASK32)


class Page:
    """Several blocks in one or more pages of the address space."""

    def __init__(self, memory: Memory, blocks: Iterable[tuple[int, int, Registers]]) -> None:
        """``blocks``: (start, end, registers)."""
        self.memory = memory
        self.blocks = tuple(blocks)

    def read(self, address: int, size: int) -> int:
        """From the block, or as something that nobody models."""
        for start, end, registers in self.blocks:
            if start <= address < end:
                return registers.read(address, size)
        return self.memory.unmodelled.read(address, size) if self.memory.unmodelled else 0

    def write(self, address: int, size: int, value: int) -> None:
        """To the block, or as something that nobody models."""
        for start, end, registers in self.blocks:
            if start <= address < end:
                registers.write(address, size, value)
                return
        if self.memory.unmodelled:
            self.memory.unmodelled.write(address, size, value)
