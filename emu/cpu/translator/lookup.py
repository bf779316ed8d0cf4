"""The table that leads from guest addresses to translated code: two levels, exact, without collisions.

The first level has a pointer for every 64 KiB of guest addresses, the second one for every byte. What is not
translated points to the resolver. Units find the first level in ``CpuState.jump_cache``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from emu.cpu.translator.calls import CHUNK_BITS

Pointers = np.ndarray[Any, np.dtype[np.uint64]]
CHUNK = 1 << CHUNK_BITS
CHUNKS = 1 << (32 - CHUNK_BITS)


class JumpTable:
    """One for each mode."""

    def __init__(self, resolver: int) -> None:
        """``resolver``: address of the function for everything that is not in the table."""
        self._resolver = resolver
        self._empty = self._new_chunk()
        self._first: np.ndarray[Any, np.dtype[np.uint64]] = np.full(
            CHUNKS, self._empty.ctypes.data, np.uint64
        )
        self._chunks: dict[int, np.ndarray[Any, np.dtype[np.uint64]]] = {}

    @property
    def address(self) -> int:
        """Host address of the first level."""
        return int(self._first.ctypes.data)

    def _new_chunk(self) -> Pointers:
        return np.full(CHUNK, self._resolver, np.uint64)

    def set(self, pc: int, function: int) -> None:
        """Code for guest address ``pc``."""
        number, place = divmod(pc, CHUNK)
        chunk = self._chunks.get(number)
        if chunk is None:
            chunk = self._chunks[number] = self._new_chunk()
            self._first[number] = chunk.ctypes.data
        chunk[place] = function

    def remove(self, pc: int) -> None:
        """``pc`` goes to the resolver again."""
        number, place = divmod(pc, CHUNK)
        if number in self._chunks:
            self._chunks[number][place] = self._resolver
