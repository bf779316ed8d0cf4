"""The models of a board, with the methods of :mod:`emu.models.on_image`: digests first, tensors when wanted.

The model file is used where it lies in the board's flash; else it is sent to PSRAM once, and found there
again by its checksum.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from emu.link.board import Board
from emu.link.client import Client
from emu.link.errors import LinkFault, Refused
from emu.link.requests import Argument, Null, Place, Ran, Wanted, Word
from emu.models import guest
from emu.models.errors import ModelFileError, NotFiniteError, PromptError, RunError
from emu.models.modelfile.kinds import Kind
from emu.models.modelfile.reader import ModelFile
from emu.models.modelfile.reasons import Reason
from emu.models.names import t2i_stages, ternary_stages, tinylm_stages
from emu.models.on_image import Outcome
from emu.models.on_image import Wanted as Chooser
from emu.models.stages import Tap
from emu.models.t2i.mirror import Request
from emu.models.tinylm.layout import VOCAB
from emu.numerics.types import AnyArray, F32Array, U8Array
from emu.verify.board_target import judged

ARENA, PSRAM, FLASH, SLOW = 0, 1, 2, 3
"""Numbers of the buffers: internal RAM, PSRAM, the flash partition, and the models' slow memory in PSRAM."""
FLASH_OFFSET = 0x200000
"""Where the model lies in flash for a bare agent (partitions.csv of the ESP-IDF project says the same)."""
MIB = 1 << 20
_TRUST, _DIGESTS = 1, 2
_TENSOR_BYTES = 256 << 10
_OK, _BAD_ARGUMENT, _NOT_FINITE, _BAD_MODEL = 0, 1, 4, 5
_NAMES = {Kind.T2I: "t2i_run", Kind.TERNARY: "ternary_run", Kind.TINYLM: "tinylm_start"}
T = TypeVar("T")


@dataclass
class _Memory:
    """Where things are in one session: the model, and the next free byte of PSRAM."""

    client: Client
    model: Place
    free: int
    end: int

    def reserve(self, size: int) -> Place:
        """The next ``size`` bytes of PSRAM. Raises RunError when there are none."""
        start = -(-self.free // 64) * 64
        if start + size > self.end:
            raise RunError(f"{size:,} bytes do not fit the {self.end:,} bytes of the board's PSRAM")
        self.free = start + size
        return Place(PSRAM, start, size)

    def put(self, data: bytes) -> Place:
        """A copy of ``data``."""
        place = self.reserve(max(len(data), 16))
        self.client.write(place.buffer, place.offset, data)
        return Place(place.buffer, place.offset, len(data))


class BoardModel:
    """A model file on a board. Raises what an image does, and what ``board_target.judged`` does."""

    kind: Kind

    def __init__(self, file: ModelFile, board: Board) -> None:
        self.file = file
        self.outcome = Outcome()
        self._board = board
        self._data = file.data.tobytes()
        self._memory: _Memory | None = None

    def _prepared(self, client: Client) -> _Memory:
        """Buffers and model of this session."""
        if self._memory is None or self._memory.client is not client:
            self._memory = _prepare(client, self._data)
        memory = self._memory
        memory.free = self._fixed_end(memory)
        return memory

    def _fixed_end(self, memory: _Memory) -> int:
        model_end = memory.model.offset + len(self._data) if memory.model.buffer == PSRAM else 0
        return max(model_end, guest.SLOW_BYTES)

    def _run(
        self,
        memory: _Memory,
        name: str,
        arguments: Sequence[Argument],
        stages: int,
        wanted: Sequence[Wanted] = (),
    ) -> Ran:
        function = memory.client.models.get(name)
        if function is None:
            raise RunError(f"the agent on the board has no model {name}")
        records = memory.reserve(guest.RECORD.itemsize * max(stages, 1))
        spaces = (Place(ARENA, 0), Place(SLOW, 0), records if stages else None)
        flags = _TRUST | (_DIGESTS if stages else 0)
        ran = memory.client.run(function, spaces, arguments, wanted, flags)
        self.outcome.instructions += ran.cycles
        self.outcome.arena_high = max(self.outcome.arena_high, ran.arena_high)
        self.outcome.slow_high = max(self.outcome.slow_high, ran.slow_high)
        if stages:
            self._read_digests(memory, ran, records)
        return ran

    def _read_digests(self, memory: _Memory, ran: Ran, records: Place) -> None:
        if ran.dropped:
            raise RunError(f"the board had no room for {ran.dropped} pieces of stages")
        size = ran.records * guest.RECORD.itemsize
        raw = memory.client.read(Place(records.buffer, records.offset, size)) if size else b""
        for record in np.frombuffer(raw, guest.RECORD):
            name = record["name"].decode("ascii", "replace")
            if record["seen"] == record["total"]:
                self.outcome.digests[name] = int(record["digest"])
            elif ran.result == _OK:
                raise RunError(
                    f"stage {name}: the board showed {record['seen']} of {record['total']} elements"
                )

    def _finish(self, ran: Ran, what: str) -> None:
        if ran.result == _NOT_FINITE:
            raise NotFiniteError(ran.stage, ran.bad)
        if ran.result == _BAD_MODEL:
            names = list(self.file.entries)
            name = names[ran.bad] if ran.bad < len(names) else ""
            raise ModelFileError(Reason(ran.reason), "refused by the board", name, ran.bad)
        if ran.result == _BAD_ARGUMENT:
            raise PromptError(f"{what}: the board refuses the request (status 1)")
        if ran.result != _OK:
            raise RunError(f"{what} returned status {ran.result}")

    def _fetch(
        self, memory: _Memory, name: str, arguments: Sequence[Argument], stage: str
    ) -> AnyArray | None:
        """The tensor of a stage, by as many runs as it takes; None when the run does not show it."""
        place = memory.reserve(_TENSOR_BYTES)
        parts: list[AnyArray] = []
        free, first = memory.free, 0
        while True:
            memory.free = free
            ran = self._run(memory, name, arguments, 0, [Wanted(stage, place, first)])
            dtype, total, seen = ran.tensors[0]
            if not seen:
                return None if not parts else np.concatenate(parts)
            kind = np.dtype(guest.DTYPES[dtype])
            raw = memory.client.read(Place(place.buffer, place.offset, seen * kind.itemsize))
            parts.append(np.frombuffer(raw, kind))
            first += seen
            if first >= total:
                return np.concatenate(parts)

    def _tell(
        self,
        memory: _Memory,
        name: str,
        arguments: Sequence[Argument],
        names: Sequence[str],
        tap: Tap,
        wanted: Chooser | None,
    ) -> None:
        free = memory.free
        for stage in names:
            if wanted is None or wanted(stage):
                memory.free = free
                values = self._fetch(memory, name, arguments, stage)
                if values is not None:
                    tap(stage, values)

    def _attempt(self, work: Any) -> Any:
        return judged(lambda: self._board.attempt(work))


def _prepare(client: Client, data: bytes) -> _Memory:
    size = -(-len(data) // 0x10000) * 0x10000
    if not any(region.name == "psram" for region in client.regions):
        try:
            client.map_memories(FLASH_OFFSET, size, 4 * MIB)
        except Refused as refusal:
            raise RunError(f"the models need PSRAM, and the board shows none ({refusal})") from refusal
    by_name = {region.name: (number, region) for number, region in enumerate(client.regions)}
    for buffer, name in ((ARENA, "sram"), (PSRAM, "psram"), (FLASH, "model")):
        if name in by_name:
            number, region = by_name[name]
            client.buffer(buffer, number, 0, region.size & ~15)
    number, region = by_name["psram"]
    end = region.size
    client.buffer(SLOW, number, 0, min(guest.SLOW_BYTES, end & ~15))
    if "model" in by_name and by_name["model"][1].size >= len(data):
        place = Place(FLASH, 0, len(data))
        if client.checksums([place])[0] == zlib.crc32(data):
            return _Memory(client, place, 0, end)
    place = Place(PSRAM, -(-guest.SLOW_BYTES // 64) * 64, len(data))
    if place.offset + place.length > end:
        raise RunError(f"the model's {len(data):,} bytes do not fit the {end:,} bytes of PSRAM")
    if client.checksums([place])[0] != zlib.crc32(data):
        client.write(place.buffer, place.offset, data)
        if client.checksums([place])[0] != zlib.crc32(data):
            raise LinkFault("the model file arrived damaged in the board's PSRAM: the memory is not sound")
    return _Memory(client, place, 0, end)


def _float_bits(value: float) -> int:
    return int(np.float32(value).view(np.uint32))


class BoardT2i(BoardModel):
    """The text-to-image model of a board."""

    kind = Kind.T2I

    def run(
        self, request: Request, tap: Tap | None = None, wanted: Chooser | None = None, digests: bool = True
    ) -> U8Array:
        """The picture, uint8 [64][64][3]; as :meth:`emu.models.on_image.ImageT2i.run`."""

        def work(client: Client) -> U8Array:
            self.outcome = Outcome()
            memory = self._prepared(client)
            rgb = memory.reserve(64 * 64 * 3)
            tokens = memory.put(np.ascontiguousarray(request.tokens, "<i4").tobytes())
            arguments: list[Argument] = [
                memory.model,
                Null,
                tokens,
                Word(request.seed),
                Word(request.steps),
                Word(_float_bits(float(request.cfg))),
                Word(0),
                rgb,
            ]
            if tap is not None:
                self._tell(memory, "t2i_run", arguments, t2i_stages(request.steps), tap, wanted)
            stages = 20 + 84 * request.steps if digests else 0
            self._finish(self._run(memory, "t2i_run", arguments, stages), "t2i_run")
            return np.frombuffer(client.read(rgb), np.uint8).reshape(64, 64, 3).copy()

        return self._attempt(work)  # type: ignore[no-any-return]


class BoardTernary(BoardModel):
    """The ternary transformer of a board."""

    kind = Kind.TERNARY

    def run(
        self, text: bytes, tap: Tap | None = None, wanted: Chooser | None = None, digests: bool = True
    ) -> F32Array:
        """Logits float32 [outputs] of a text."""

        def work(client: Client) -> F32Array:
            self.outcome = Outcome()
            memory = self._prepared(client)
            logits = memory.reserve(4 * self.file.outputs)
            arguments: list[Argument] = [memory.model, memory.put(text) if text else Null, logits]
            if tap is not None:
                self._tell(memory, "ternary_run", arguments, ternary_stages(), tap, wanted)
            self._finish(self._run(memory, "ternary_run", arguments, 40 if digests else 0), "ternary_run")
            return np.frombuffer(client.read(logits), "<f4").copy()

        return self._attempt(work)  # type: ignore[no-any-return]


class BoardTinylm(BoardModel):
    """The language model of a board: one sequence at a time, repeated when the board loses it."""

    kind = Kind.TINYLM

    def __init__(self, file: ModelFile, board: Board) -> None:
        super().__init__(file, board)
        self._seed = 0
        self._tokens: list[int] = []
        self._holder: Client | None = None

    def start(self, seed: int = 0, positions: int = 256, digests: bool = True) -> None:
        """A new sequence; ``seed``: of the sampler."""
        self.outcome = Outcome()
        self._seed, self._tokens, self._holder = seed, [], None

    def _begin(self, client: Client, memory: _Memory) -> None:
        """The sequence up to where it is, in this session."""
        if self._holder is client:
            return
        ran = self._run(memory, "tinylm_start", [memory.model, Word(self._seed)], 0)
        self._finish(ran, "tinylm_start")
        logits = memory.reserve(4 * VOCAB)
        for token in self._tokens:
            self._run(memory, "tinylm_step", [Word(token), logits], 0)
        self._holder = client

    def step(self, token: int, tap: Tap | None = None, wanted: Chooser | None = None) -> F32Array:
        """Logits float32 [4096] after one more token."""

        def work(client: Client) -> F32Array:
            memory = self._prepared(client)
            self._begin(client, memory)
            free = memory.free
            if tap is not None:
                self._tell_step(client, memory, token, tap, wanted)
                memory.free = free
            logits = memory.reserve(4 * VOCAB)
            try:
                ran = self._run(memory, "tinylm_step", [Word(token), logits], 40)
                self._finish(ran, "tinylm_step")
            finally:
                self._holder = client
            return np.frombuffer(client.read(logits), "<f4").copy()

        try:
            values: F32Array = self._attempt(work)
        except NotFiniteError:
            self._holder = None
            raise
        self._tokens.append(token)
        return values

    def _tell_step(
        self, client: Client, memory: _Memory, token: int, tap: Tap, wanted: Chooser | None
    ) -> None:
        """A step that shows tensors moves on, too: each is taken from a sequence of its own."""
        names = [n for n in tinylm_stages([len(self._tokens)]) if wanted is None or wanted(n)]
        for stage in names:
            self._holder = None
            self._begin(client, memory)
            logits = memory.reserve(4 * VOCAB)
            values = self._fetch(memory, "tinylm_step", [Word(token), logits], stage)
            if values is not None:
                tap(stage, values)
            self._holder = None
            self._begin(client, memory)

    def choose(self, logits: F32Array, temperature: float = 0.0) -> int:
        """The next token, chosen by the board."""

        def work(client: Client) -> int:
            memory = self._prepared(client)
            self._begin(client, memory)
            place = memory.put(np.ascontiguousarray(logits, "<f4").tobytes())
            return self._run(memory, "tinylm_choose", [place, Word(_float_bits(temperature))], 0).result

        return self._attempt(work)  # type: ignore[no-any-return]
