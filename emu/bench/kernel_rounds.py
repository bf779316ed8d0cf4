"""The firmware's C kernels, repeated inside the guest (firmware/bench/rounds), on engine and QEMU."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from emu.bench.kernel_subjects import bench_case, words_of
from emu.bench.qemu import QemuProgram
from emu.bench.reach import why_not_on_qemu
from emu.cpu.calls import argument_words, pack_words
from emu.cpu.engine import Engine
from emu.image import Image
from emu.kernels import load_all
from emu.kernels.spec import Kernel
from emu.verify.errors import ToolError
from emu.verify.layout import Layout

SIZES = {
    "rows": 64,
    "tokens": 64,
    "cols": 192,
    "outs": 576,
    "n": 64 * 192,
    "heads": 6,
    "dh": 32,
    "height": 16,
    "width": 16,
    "channels": 4,
    "steps": 8,
    "half": 128,
    "position": 255,
    "vocabulary": 256,
    "capacity": 256,
    "group": 32,
}
"""Sizes by the names of the dimensions, for all kernels alike: what the text-to-picture model has (64 tokens
of 192 channels, a product of 576, 6 heads of 32, a latent picture of 16 x 16 x 4, 8 steps, time in 2 x 128),
and of what it lacks (groups, cache, vocabulary, positions) what the other models have. Dimensions that are
not here (gaps between rows, kinds of contents, switches) are as small as the spec allows.
"""
BUDGET = 1 << 40
RUN, NOTHING = "rounds_run", "rounds_nothing"
_WORDS, _COPIES = 24, 8
_JOB_BYTES = 4 * (2 + _WORDS + 3 * _COPIES)
"""``struct job`` of rounds.c."""


def kernels_for_qemu(image: Image) -> list[Kernel]:
    """Every kernel of the image that QEMU's core can run: no vector code, no high product in all it calls."""
    found = (k for k in load_all().values() if k.symbol in image.symbols)
    return [k for k in found if not why_not_on_qemu(image, k.symbol)]


class KernelRounds:
    """One kernel with its fixed case, as a job for the guest in both memories."""

    def __init__(self, kernel: Kernel, engine: Engine, program: QemuProgram | None) -> None:
        self.kernel = kernel
        self._case = bench_case(kernel, SIZES)
        self._engine, self._program = engine, program
        arena = engine.memory.view(engine.arena.start, engine.arena.size)
        self._layout = Layout(kernel, self._case, arena)
        self._fresh = arena[: self._layout.used].tobytes()
        self._changed = [s for s in self._layout.slots if s.tensor.role == "inout" and s.size]
        if len(self._changed) > _COPIES:
            raise ToolError(f"{kernel.symbol}: more than {_COPIES} inout buffers")
        self._job = self._layout.used + sum(_rounded(s.size) for s in self._changed)
        if self._job + _JOB_BYTES > engine.arena.size:
            raise ToolError(f"{kernel.symbol}: its buffers do not fit into the arena")
        self._start_again()

    def _start_again(self) -> None:
        """Both memories as before the first call; behind the buffers, what the rounds put back."""
        saved = b"".join(self._fresh[s.start :][: _rounded(s.size)] for s in self._changed)
        self._engine.memory.write(self._engine.arena.start, self._fresh + saved)
        if self._program is not None:
            self._program.write(self._program.arena, self._fresh + saved)

    def on_engine(self, rounds: int, is_empty: bool = False) -> tuple[int, int]:
        """Instructions and the last result; ``is_empty``: the rounds without the kernel."""
        engine, symbols = self._engine, self._engine.image.symbols
        addresses = {name: symbols.function(name).address for name in (self.kernel.symbol, NOTHING)}
        job = self._job_at(engine.arena.start, rounds, is_empty, addresses)
        engine.memory.write(engine.arena.start + self._job, job)
        out = engine.call(RUN, [engine.arena.start + self._job], budget=BUDGET)
        return out.instructions, self._result(out.a2)

    def on_qemu(self, rounds: int, is_empty: bool = False) -> int:
        """The last result; see above."""
        program = self._program
        assert program is not None
        job = self._job_at(program.arena, rounds, is_empty, program.symbols)
        program.write(program.arena + self._job, job)
        return self._result(program.call(RUN, [program.arena + self._job])[0])

    def _result(self, word: int) -> int:
        """a2, if the kernel returns anything."""
        return 0 if self.kernel.returns is None else word

    def _job_at(self, base: int, rounds: int, is_empty: bool, symbols: Mapping[str, int]) -> bytes:
        """``struct job`` for buffers that lie from ``base`` on."""
        in_registers, on_stack = argument_words(words_of(self.kernel, self._case, self._layout, base))
        words, at = [*in_registers, *on_stack], base + self._layout.used
        words = [rounds, symbols[NOTHING if is_empty else self.kernel.symbol], *words]
        words += [0] * (2 + _WORDS - len(words))
        for slot in self._changed:
            words += [base + slot.start, at, _rounded(slot.size) // 4]
            at += _rounded(slot.size)
        return pack_words(words).ljust(_JOB_BYTES, b"\0")

    def must_agree(self) -> None:
        """After one round and after three, engine and QEMU hold the same bytes. Raises ToolError."""
        for rounds in (1, 3):
            self._start_again()
            results = self.on_engine(rounds)[1], self.on_qemu(rounds)
            if results[0] != results[1]:
                raise ToolError(f"{self.kernel.symbol}: engine and QEMU return {results[0]} and {results[1]}")
            for name, ours, theirs in self._buffers():
                if not np.array_equal(ours, theirs):
                    raise ToolError(f"{self.kernel.symbol}: engine and QEMU differ in {name}")

    def _buffers(self) -> Iterator[tuple[str, Any, Any]]:
        """Name and bytes of each buffer, here and there."""
        assert self._program is not None
        theirs = np.frombuffer(self._program.read(self._program.arena, self._layout.used), np.uint8)
        for slot in self._layout.slots:
            yield slot.tensor.name, self._layout.view(slot).view(np.uint8), theirs[slot.start : slot.end]


def _rounded(size: int) -> int:
    return -(-size // 4) * 4
