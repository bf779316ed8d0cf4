"""The models of the reference image on the CPU engine, with the structures of emu_run.h and emu_models.h."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from emu.cpu.engine import Engine
from emu.cpu.shadow import INIT, READ, WRITE
from tests.firmware.host_models import ARENA_BYTES, RECORD, SLOW_BYTES

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "firmware" / "esp32s3-bare.elf"
RECORDS = 2048
RUN_BYTES = 108
RESULTS_AT = 36
"""Offset of arena_high in struct emu_run."""
BUDGET = 4_000_000_000


@dataclass
class Results:
    """Words of struct emu_run after a run."""

    arena_high: int
    slow_high: int
    bad: int
    reason: int


class ImageRun:
    """Buffers of one run: the arena in internal SRAM behind the image, the rest in PSRAM.

    ``flags``: of struct emu_run, 1 trusts the model file. ``parallel``: jobs go to core 1 through ``job``.
    """

    def __init__(
        self, engine: Engine, arena_bytes: int = ARENA_BYTES, flags: int = 0, parallel: bool = False
    ) -> None:
        self.engine, self.memory = engine, engine.memory
        self._free = engine.arena.start
        symbols = engine.image.symbols
        self.arena = -(-symbols.get("_bss_end").address // 64) * 64
        assert self.arena + ARENA_BYTES <= engine.stack.start - engine.stack.size
        slow = self.room(SLOW_BYTES)
        self.records = self.room(RECORD.itemsize * RECORDS)
        self.table = self.put(struct.pack("<4I", self.records, RECORDS, 0, 0))
        self.job = self.put(bytes(32))
        self._allow(self.arena, arena_bytes, READ | WRITE)
        tap = symbols.get("emu_tap_digest").address
        par = symbols.get("par_two_cores").address if parallel else 0
        words = (self.arena, arena_bytes, slow, SLOW_BYTES, tap, self.table, par, self.job, flags)
        self.run = self.put(struct.pack("<9I", *words).ljust(RUN_BYTES, b"\0"))

    def _allow(self, address: int, size: int, what: int) -> None:
        if self.engine.options.bounds:
            self.memory.shadow.allow(address, size, what)

    def room(self, size: int) -> int:
        """Address of `size` bytes in PSRAM that nobody has written."""
        address = self._free
        self._free = -(-(address + size) // 64) * 64 + 64
        self._allow(address, size, READ | WRITE)
        return address

    def put(self, data: bytes) -> int:
        """Address of these bytes in PSRAM."""
        address = self.room(len(data))
        self.memory.write(address, data)
        self._allow(address, len(data), READ | WRITE | INIT)
        return address

    def call(self, symbol: str, *words: int) -> int:
        """Status of a call with the run as the last argument."""
        return self.engine.call(symbol, [*words, self.run], budget=BUDGET).s32

    def stages(self) -> dict[str, tuple[int, int, int]]:
        """Stage to (dtype, elements, digest); fails when one is incomplete."""
        count = struct.unpack_from("<I", self.memory.read(self.table + 8, 4))[0]
        found = np.frombuffer(self.memory.read(self.records, RECORD.itemsize * count), RECORD)
        assert (found["seen"] == found["total"]).all()
        return {r["name"].decode(): (int(r["dtype"]), int(r["total"]), int(r["digest"])) for r in found}

    def results(self) -> Results:
        """What the run reports."""
        return Results(*struct.unpack("<4I", self.memory.read(self.run + RESULTS_AT, 16)))

    def t2i_request(self, prompt: bytes, steps: int) -> tuple[int, int]:
        """(struct t2i_request, the picture's address) for seed 7 and guidance 3."""
        rgb, text = self.room(12288), self.put(prompt)
        words = struct.pack("<IIIiIifI", text, len(prompt), 0, 0, 7, steps, 3.0, rgb)
        return self.put(words), rgb

    def ternary_request(self, text: bytes) -> int:
        """struct ternary_request with room for 4096 outputs."""
        return self.put(struct.pack("<IIIi", self.put(text), len(text), self.room(4 * 4096), 4096))
