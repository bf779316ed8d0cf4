"""A run of one of the example models, as bisecting wants it: golden stages from the mirror, and the same run
on an image, prepared so that it can be watched and stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from emu.cpu.engine import Engine
from emu.cpu.hooks import GuestCall, Hook
from emu.cpu.memory import MemoryFault
from emu.cpu.options import EngineOptions
from emu.image import Image
from emu.models import guest
from emu.models.errors import NotFiniteError
from emu.models.modelfile.kinds import Kind
from emu.models.modelfile.reader import ModelFile
from emu.models.names import t2i_stages, ternary_stages, tinylm_stages
from emu.models.on_image import ImageModel, ImageT2i, ImageTernary, ImageTinylm
from emu.models.sources import load_model
from emu.models.stages import Digests, Tap, chain
from emu.models.t2i.mirror import Request, T2iMirror
from emu.models.ternary.mirror import TernaryMirror
from emu.models.tinylm.mirror import TinylmMirror
from emu.numerics.types import AnyArray

TAP = "emu_tap_digest"
"""Called by the models' code with (run, name, piece) for every piece of a stage."""

Failed = tuple[str, int]
"""Stage and row at which a run ended with status 4."""


@dataclass
class Golden:
    """What is right: digests, flat tensors and shapes of every stage in the order of the model, and where the
    run ends when its numbers overflow.
    """

    name: str
    order: list[str]
    digests: dict[str, int] = field(default_factory=dict)
    tensors: dict[str, AnyArray] = field(default_factory=dict)
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    failed: Failed | None = None


OnTap = Callable[[GuestCall, str, guest.Piece, AnyArray, bool], object]
"""(the guest, stage, place in memory, elements [rows][cols], whether this is a function that will return)."""


class Prepared(Protocol):
    """A run on an engine that has not begun; it runs once."""

    @property
    def engine(self) -> Engine:
        """What runs it."""

    def run(self) -> Failed | None:
        """Run to the end. Raises Stopped when a hook asks for it, Trap."""

    def digests(self) -> tuple[dict[str, int], Failed | None]:
        """One run of which only the digests of the stages are told. Raises Trap."""

    def tap(self, tell: OnTap) -> list[Hook]:
        """Hooks that tell every piece of a stage that is shown."""

    @property
    def arena_address(self) -> int:
        """Where working memory begins whose place depends on the image; 0: there is none."""

    def move_arena(self, address: int) -> None:
        """Have it elsewhere, before the run."""


class Run(Protocol):
    """A run that is golden on one side and watched on the other."""

    @property
    def label(self) -> str:
        """For reports."""

    def order(self) -> list[str]:
        """Every stage in the order of the model; empty when only the golden run tells."""

    def golden(self) -> Golden:
        """What is right."""

    def prepare(self, image: Image, options: EngineOptions | None = None) -> Prepared:
        """The run on an image. Raises RunError, ImageError."""


def piece_at(call: GuestCall, address: int) -> tuple[guest.Piece, AnyArray]:
    """A struct emu_piece and its elements; an empty one where they cannot be read."""
    try:
        piece = guest.Piece.read(call.engine, address)
        return piece, np.ascontiguousarray(piece.values(call.engine))
    except (MemoryFault, IndexError):
        return guest.Piece(0, 0, 0, 0, 0, 0, 0, 0), np.zeros((0, 0), np.uint8)


@dataclass(frozen=True)
class ModelRun:
    """One request to one model. ``request``: a t2i Request, the bytes of a text, or a list of tokens."""

    kind: Kind
    weights: str
    name: str
    request: Any

    @cached_property
    def file(self) -> ModelFile:
        """The model file."""
        return load_model(self.weights, self.kind)

    @property
    def label(self) -> str:
        """For reports."""
        return f"{self.kind.label} {self.weights}, {self.name}"

    def order(self) -> list[str]:
        """Every stage in the order of the model."""
        if self.kind is Kind.T2I:
            return t2i_stages(self.request.steps)
        if self.kind is Kind.TERNARY:
            return ternary_stages()
        return tinylm_stages(range(len(self.request)))

    def golden(self) -> Golden:
        """The stages of the mirror."""
        golden, digests = Golden("mirror", self.order()), Digests()

        def keep(name: str, values: AnyArray) -> None:
            golden.tensors[name] = np.array(values).reshape(-1)
            golden.shapes[name] = values.shape

        golden.failed = _caught(lambda: self._mirror(chain(digests, keep)))
        golden.digests = digests.values
        return golden

    def _mirror(self, tap: Tap) -> None:
        if self.kind is Kind.T2I:
            T2iMirror(self.file).run(self.request, tap)
        elif self.kind is Kind.TERNARY:
            TernaryMirror(self.file).run(self.request, tap)
        else:
            mirror = TinylmMirror(self.file)
            mirror.start()
            for token in self.request:
                mirror.step(token, tap)

    def prepare(self, image: Image, options: EngineOptions | None = None) -> PreparedModel:
        """The run on an image. Raises RunError, ImageError."""
        made = {Kind.T2I: ImageT2i, Kind.TERNARY: ImageTernary, Kind.TINYLM: ImageTinylm}[self.kind]
        return PreparedModel(self, made(self.file, image, options))


@dataclass
class PreparedModel:
    """An example model in the memory of an image."""

    model_run: ModelRun
    model: ImageModel

    @property
    def engine(self) -> Engine:
        """What runs it."""
        return self.model.engine

    def run(self) -> Failed | None:
        """See Prepared."""
        return _caught(self._go)

    def digests(self) -> tuple[dict[str, int], Failed | None]:
        """See Prepared: computed by the firmware."""
        failed = self.run()
        return dict(self.model.outcome.digests), failed

    def tap(self, tell: OnTap) -> list[Hook]:
        """See Prepared. The tap's own function is served, so nothing is digested in the guest."""

        def shown(call: GuestCall) -> object:
            stage = call.string(call.argument(1)).decode("ascii", "replace")
            return tell(call, stage, *piece_at(call, call.argument(2)), True)

        return [self.engine.hook(TAP, shown), self.engine.serve(TAP, lambda call: None)]

    @property
    def arena_address(self) -> int:
        """Internal RAM begins where the image's data ends."""
        return self.model.arena_address

    def move_arena(self, address: int) -> None:
        """Have it elsewhere, where there is room for it."""
        if self.engine.stack.start - address >= guest.ARENA_BYTES:
            self.model.arena_address = address

    def _go(self) -> None:
        request, model = self.model_run.request, self.model
        if isinstance(model, ImageTinylm):
            model.start(0, len(request))
            for token in request:
                model.step(token)
        else:
            assert isinstance(model, ImageT2i | ImageTernary)
            model.run(request)


def _caught(function: Callable[[], Any]) -> Failed | None:
    try:
        function()
    except NotFiniteError as error:
        return error.stage, error.row
    return None


WORDS = (36, 7, 0, 37)
"""A prompt of four words."""
TEXTS = (b"12+200", bytes(range(200, 232)), b"")
TOKENS = ([65, 300, 2], [4095, 0, 17, 1031, 256])


def usual_runs(kind: Kind, weights: tuple[str, ...] = ("random:1", "extreme:1")) -> Iterator[ModelRun]:
    """Small runs that reach all code of a model, the most telling first."""
    for source in weights:
        for name, request in _requests(kind):
            yield ModelRun(kind, source, name, request)


def _requests(kind: Kind) -> list[tuple[str, Any]]:
    if kind is Kind.TERNARY:
        return [(f"text {text!r}", text) for text in TEXTS]
    if kind is Kind.TINYLM:
        return [(f"tokens {', '.join(map(str, tokens))}", tokens) for tokens in TOKENS]
    some, none = np.array(WORDS, np.int32), np.zeros(0, np.int32)
    many = np.arange(16, dtype=np.int32) * 3 % 45
    return [
        ("4 words, 1 step", Request(some, 7, 1)),
        ("null prompt, 2 steps, cfg -1.5", Request(none, 0, 2, np.float32(-1.5))),
        ("16 words, 1 step", Request(many, 0xFFFFFFFF, 1, np.float32(0))),
    ]
