"""The models of a firmware image on the CPU engine: every instruction executed, every stage seen.

Digests come from the firmware's own tap, tensors from a hook where that tap hands them over. Both name a
tensor as its consumer will read it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from emu.cpu.engine import Engine
from emu.cpu.hooks import GuestCall
from emu.cpu.options import EngineOptions
from emu.image import Image, load_image
from emu.models import guest
from emu.models.errors import ModelFileError, NotFiniteError, PromptError, RunError
from emu.models.modelfile.kinds import Kind
from emu.models.modelfile.reader import ModelFile
from emu.models.modelfile.reasons import Reason
from emu.models.stages import Tap
from emu.models.t2i.mirror import Request
from emu.models.t2i.tokenizer import composed
from emu.models.tinylm.layout import VOCAB
from emu.numerics.types import AnyArray, F32Array, S32Array, U8Array

Wanted = Callable[[str], bool]
"""Says whether somebody wants the tensor of a stage."""

TRUST: Final = 1
BUDGET: Final = 20_000_000_000
_OK, _BAD_ARGUMENT, _NOT_FINITE, _BAD_MODEL = 0, 1, 4, 5
_TABLE = struct.Struct("<4I")


@dataclass
class Outcome:
    """What a run on the image left behind, beside its result.

    ``digests``: 64 bits by stage, in order; ``instructions``: executed; ``arena_high``, ``slow_high``: most
    bytes of internal RAM and PSRAM in use at one time.
    """

    digests: dict[str, int] = field(default_factory=dict)
    instructions: int = 0
    arena_high: int = 0
    slow_high: int = 0


class _Collector:
    """Puts the pieces of wanted stages together and tells each stage when it is complete."""

    def __init__(self, wanted: Wanted, tap: Tap) -> None:
        self._wanted, self._tap = wanted, tap
        self._open: dict[str, tuple[AnyArray, list[int]]] = {}

    def __call__(self, call: GuestCall) -> None:
        name = call.string(call.argument(0)).decode("ascii", "replace")
        if not self._wanted(name):
            return
        piece = guest.Piece.read(call.engine, call.argument(1))
        if name not in self._open:
            self._open[name] = np.zeros(piece.total, guest.DTYPES[piece.dtype]), [0]
        whole, seen = self._open[name]
        rows = piece.first + np.arange(piece.rows)[:, None] * piece.pitch
        whole[rows + np.arange(piece.cols)] = piece.values(call.engine)
        seen[0] += piece.rows * piece.cols
        if seen[0] >= piece.total:
            self._tap(name, self._open.pop(name)[0])


class ImageModel:
    """A model file in the memory of a firmware image on the CPU engine. Not thread-safe."""

    kind: Kind

    def __init__(self, file: ModelFile, elf: Path | Image, options: EngineOptions | None = None) -> None:
        """``elf``: the firmware.

        Raises ImageError, RunError when internal RAM has no room for a model.
        """
        self.file = file
        self.engine = Engine(elf if isinstance(elf, Image) else load_image(elf), options)
        self.outcome = Outcome()
        self._heap = guest.GuestHeap(self.engine, self.engine.arena)
        self._model = self._heap.put(file.data.tobytes())
        self._size = len(file.data)
        self._slow = self._heap.reserve(guest.SLOW_BYTES)
        self._run = self._heap.reserve(256)
        self._table = self._heap.reserve(64)
        self._free = self._table + 64
        internal = guest.internal_ram(self.engine)
        if internal.size < guest.ARENA_BYTES:
            raise RunError(
                f"{self.engine.image.name}: {internal.size:,} bytes of internal RAM are free, a model may "
                f"use {guest.ARENA_BYTES:,}"
            )
        self.arena_address = internal.start
        """Where the working memory of a run begins; may be moved up, to be equal for two images."""

    def _prepare(self, stages: int, flags: int) -> None:
        """A fresh struct emu_run with a table for the digests of ``stages`` stages, 0 for no taps."""
        tap = self.engine.image.symbols.function("emu_tap_digest").address if stages else 0
        self._records = self._heap.reserve(guest.RECORD.itemsize * max(stages, 1))
        self.engine.memory.write(self._table, _TABLE.pack(self._records, stages, 0, 0))
        run = guest.pack_run(self.arena_address, self._slow, tap, self._table, flags)
        self.engine.memory.write(self._run, run)

    def _call(
        self, function: str, arguments: list[Any], tap: Tap | None = None, wanted: Wanted | None = None
    ) -> int:
        """Call a function of the image; its status. Raises Trap."""
        hooks = []
        if tap is not None:
            collector = _Collector(wanted or (lambda name: True), tap)
            hooks.append(self.engine.hook("emu_tap_tensor", collector))
        try:
            out = self.engine.call(function, arguments, budget=BUDGET)
        finally:
            for hook in hooks:
                hook.remove()
        self.outcome.instructions += out.instructions
        return out.s32

    def _finish(self, status: int, what: str) -> None:
        """Read results and digests; raise what the status says."""
        results = guest.read_run(self.engine, self._run)
        self.outcome.arena_high = max(self.outcome.arena_high, results.arena_high)
        self.outcome.slow_high = max(self.outcome.slow_high, results.slow_high)
        self._read_digests(status)
        if status == _NOT_FINITE:
            raise NotFiniteError(results.stage, results.bad)
        if status == _BAD_MODEL:
            names = list(self.file.entries)
            name = names[results.bad] if results.bad < len(names) else ""
            raise ModelFileError(Reason(results.reason), "refused by the firmware", name, results.bad)
        if status == _BAD_ARGUMENT:
            raise PromptError(f"{what}: the firmware refuses the request (status 1)")
        if status != _OK:
            raise RunError(f"{what} returned status {status}")

    def _read_digests(self, status: int) -> None:
        _, capacity, count, dropped = _TABLE.unpack(self.engine.memory.read(self._table, _TABLE.size))
        if dropped:
            raise RunError(f"the firmware reported {dropped} pieces of more than {capacity} stages")
        if not count:
            return
        size = count * guest.RECORD.itemsize
        records = np.frombuffer(self.engine.memory.read(self._records, size), guest.RECORD)
        for record in records:
            name = record["name"].decode("ascii", "replace")
            if record["seen"] == record["total"]:
                self.outcome.digests[name] = int(record["digest"])
            elif status == _OK:
                seen, total = int(record["seen"]), int(record["total"])
                raise RunError(f"stage {name}: the firmware showed {seen} of {total} elements")


class ImageT2i(ImageModel):
    """The text-to-image model of an image."""

    kind = Kind.T2I

    def run(
        self,
        request: Request,
        tap: Tap | None = None,
        wanted: Wanted | None = None,
        digests: bool = True,
        prompt: str | None = None,
    ) -> U8Array:
        """The picture, uint8 [64][64][3]; :attr:`outcome` holds digests and counts.

        ``prompt``: let the firmware split this text into words instead of giving it ``request.tokens``.
        ``tap`` gets the wanted tensors, flat. Raises NotFiniteError, PromptError, Trap, RunError.
        """
        self.outcome = Outcome()
        self._heap.clear_to(self._free)
        taps = digests or tap is not None
        self._prepare(20 + 84 * request.steps if taps else 0, TRUST)
        rgb = self._heap.reserve(64 * 64 * 3)
        text = composed(prompt) if prompt is not None else b""
        tokens = self._heap.put(np.ascontiguousarray(request.tokens, "<i4").tobytes())
        words = struct.pack(
            "<IIIiIifI",
            self._heap.put(text),
            len(text),
            0 if prompt is not None else tokens,
            len(request.tokens),
            request.seed,
            request.steps,
            float(request.cfg),
            rgb,
        )
        arguments = [self._model, self._size, self._heap.put(words), self._run]
        self._finish(self._call("t2i_run", arguments, tap, wanted), "t2i_run")
        picture = np.frombuffer(self.engine.memory.read(rgb, 64 * 64 * 3), np.uint8)
        return picture.reshape(64, 64, 3).copy()


class ImageTernary(ImageModel):
    """The ternary transformer of an image."""

    kind = Kind.TERNARY

    def run(
        self, text: bytes, tap: Tap | None = None, wanted: Wanted | None = None, digests: bool = True
    ) -> F32Array:
        """Logits float32 [outputs] of a text; parameters and errors as for :meth:`ImageT2i.run`."""
        self.outcome = Outcome()
        self._heap.clear_to(self._free)
        self._prepare(40 if digests or tap is not None else 0, TRUST)
        outputs = self.file.outputs
        logits = self._heap.reserve(4 * outputs)
        request = struct.pack("<IIIi", self._heap.put(text), len(text), logits, outputs)
        arguments = [self._model, self._size, self._heap.put(request), self._run]
        self._finish(self._call("ternary_run", arguments, tap, wanted), "ternary_run")
        return np.frombuffer(self.engine.memory.read(logits, 4 * outputs), "<f4").copy()


class ImageTinylm(ImageModel):
    """The language model of an image: one sequence at a time."""

    kind = Kind.TINYLM
    _POSITION_STAGES = 40
    _STRUCT_BYTES = 1024

    def start(self, seed: int = 0, positions: int = 256, digests: bool = True) -> None:
        """A new sequence of at most ``positions`` tokens; ``seed``: of the sampler."""
        self.outcome = Outcome()
        self._heap.clear_to(self._free)
        self._prepare(self._POSITION_STAGES * positions if digests else 0, TRUST)
        self._lm = self._heap.reserve(self._STRUCT_BYTES)
        self._logits = self._heap.reserve(4 * VOCAB)
        status = self._call("tinylm_start", [self._model, self._size, seed, self._lm, self._run])
        self._finish(status, "tinylm_start")

    def step(self, token: int, tap: Tap | None = None, wanted: Wanted | None = None) -> F32Array:
        """Logits float32 [4096] after one more token."""
        arguments = [self._lm, token, self._logits, self._run]
        self._finish(self._call("tinylm_step", arguments, tap, wanted), "tinylm_step")
        return np.frombuffer(self.engine.memory.read(self._logits, 4 * VOCAB), "<f4").copy()

    def choose(self, logits: F32Array, temperature: float = 0.0) -> int:
        """The next token, chosen by the firmware."""
        self.engine.memory.write(self._logits, np.ascontiguousarray(logits, "<f4").tobytes())
        return self._call("tinylm_choose", [self._lm, self._logits, np.float32(temperature)])

    def tokenize(self, text: bytes) -> S32Array:
        """Tokens of a text as the firmware splits it."""
        capacity = max(len(text), 1)
        place, tokens = self._heap.put(text), self._heap.reserve(4 * capacity)
        count = self._call("tinylm_tokenize", [self._lm + 8, place, len(text), tokens, capacity])
        return np.frombuffer(self.engine.memory.read(tokens, 4 * count), "<i4").copy()
