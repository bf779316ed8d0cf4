"""Structures of emu_run.h and emu_models.h in guest memory, and a place for everything that a run needs."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

import numpy as np

from emu.cpu.engine import Engine
from emu.cpu.loader import Span
from emu.numerics.types import AnyArray

NAME_BYTES: Final = 24
ARENA_BYTES: Final = 294_912
"""Internal RAM that a text-to-image run may use: 288 KB (docs/models.md section 1)."""
SLOW_BYTES: Final = 442_368
"""PSRAM that the largest run uses: the cache of the language model."""

DTYPES: Final = (np.float32, np.int8, np.uint8, np.int32)
"""numpy types by the numbers of ``enum emu_dtype``."""

RECORD: Final = np.dtype(
    [
        ("name", "S24"),
        ("dtype", "<u4"),
        ("total", "<u4"),
        ("seen", "<u4"),
        ("unused", "<u4"),
        ("digest", "<u8"),
    ]
)
"""struct emu_digest."""

_RUN = struct.Struct("<15I24s3i2I")
_PIECE = struct.Struct("<8I")


@dataclass(frozen=True)
class Results:
    """What a run leaves in struct emu_run."""

    arena_high: int
    slow_high: int
    bad: int
    reason: int
    row: int
    column: int
    stage: str


@dataclass(frozen=True)
class Piece:
    """struct emu_piece: a rectangle of a stage in guest memory."""

    data: int
    dtype: int
    first: int
    rows: int
    cols: int
    stride: int
    pitch: int
    total: int

    @classmethod
    def read(cls, engine: Engine, address: int) -> Piece:
        """The piece at a guest address."""
        return cls(*_PIECE.unpack(engine.memory.read(address, _PIECE.size)))

    def values(self, engine: Engine) -> AnyArray:
        """The elements [rows][cols]."""
        dtype = np.dtype(DTYPES[self.dtype])
        if not self.rows or not self.cols:
            return np.zeros((self.rows, self.cols), dtype)
        size = ((self.rows - 1) * self.stride + self.cols) * dtype.itemsize
        flat = np.frombuffer(engine.memory.read(self.data, size), dtype)
        step = self.stride * dtype.itemsize
        return np.lib.stride_tricks.as_strided(flat, (self.rows, self.cols), (step, dtype.itemsize))


class GuestHeap:
    """Hands out aligned pieces of a span of guest memory, one after the other, until it is cleared."""

    def __init__(self, engine: Engine, span: Span) -> None:
        self._engine, self._span, self._used = engine, span, 0

    def clear_to(self, address: int) -> None:
        """Take back everything from an address on."""
        self._used = address - self._span.start

    def reserve(self, size: int) -> int:
        """The address of ``size`` bytes at a multiple of 64. Raises MemoryError when there is no room."""
        address = -(-(self._span.start + self._used) // 64) * 64
        if address + size > self._span.end:
            raise MemoryError(f"{size:,} bytes do not fit the {self._span.size:,} bytes of guest memory")
        self._used = address + size - self._span.start
        return address

    def put(self, data: bytes) -> int:
        """The address of a copy of ``data``."""
        address = self.reserve(max(len(data), 1))
        self._engine.memory.write(address, data)
        return address


def internal_ram(engine: Engine) -> Span:
    """The internal RAM between the image's data and the stack."""
    used = [s.end for s in engine.image.segments if s.address < engine.stack.start]
    low = max((e for e in used if e >= 0x3FC88000), default=0x3FC88000)
    start = -(-low // 64) * 64
    return Span(start, engine.stack.start - start)


def pack_run(arena: int, slow: int, tap: int, table: int, flags: int) -> bytes:
    """struct emu_run before a run on one core; ``tap`` 0: no taps."""
    words = (arena, ARENA_BYTES, slow, SLOW_BYTES, tap, table, 0, 0, flags)
    return _RUN.pack(*words, *([0] * 6), b"", 0, 0, 0, 0, 0)


def read_run(engine: Engine, address: int) -> Results:
    """What the run left."""
    fields = _RUN.unpack(engine.memory.read(address, _RUN.size))
    stage = fields[15].split(b"\0", 1)[0].decode("ascii", "replace")
    high, slow, bad, reason, row, column = fields[9:15]
    return Results(high, slow, bad, reason, row, column, stage)
