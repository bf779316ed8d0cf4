"""A run of a model of yours (emu.verify.modelspec), as bisecting wants it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from emu.bisect.machines import Machine, machine_of_case
from emu.bisect.model_runs import Failed, Golden, OnTap
from emu.bisect.watch import Shown, Watch
from emu.cpu.engine import Engine
from emu.cpu.hooks import GuestCall, Hook
from emu.cpu.memory import MemoryFault
from emu.cpu.options import EngineOptions
from emu.image import Image
from emu.models import guest
from emu.models.stages import stage_digest
from emu.numerics.types import AnyArray
from emu.verify.case import Case
from emu.verify.modelspec import DTYPES, TAP, ModelSpec, address_of, pointer_of
from emu.verify.strategies import cases
from emu.verify.target import MirrorTarget

_DIGESTED = ("float32", "int8", "uint8", "int32")


@dataclass(frozen=True)
class SpecRun:
    """One example of a model. ``number``: of the example."""

    spec: ModelSpec
    case: Case
    number: int

    @property
    def label(self) -> str:
        """For reports."""
        return f"{self.spec.symbol}, example {self.number}"

    def order(self) -> list[str]:
        """The golden run tells."""
        return []

    def golden(self) -> Golden:
        """The stages of the mirror. Raises ToolError."""
        golden = Golden("mirror", [])

        def keep(name: str, values: AnyArray) -> None:
            golden.order.append(name)
            golden.tensors[name] = np.array(values).reshape(-1)
            golden.shapes[name] = values.shape
            golden.digests[name] = digest(values)

        MirrorTarget().call(self.spec.kernel(keep), self.case)
        return golden

    def prepare(self, image: Image, options: EngineOptions | None = None) -> PreparedSpec:
        """The run on an image. Raises UsageProblem, Trap."""
        options = options or EngineOptions()
        machine = machine_of_case(image, self.spec.kernel(), self.case, options.fused, options.tier)
        return PreparedSpec(self.spec, machine, self.sizes())

    def sizes(self) -> dict[str, tuple[str, int]]:
        """Type and number of elements of every stage: the mirror's."""
        golden = self.golden()
        return {name: (values.dtype.name, values.size) for name, values in golden.tensors.items()}


@dataclass
class PreparedSpec:
    """A model of yours at its first instruction. ``sizes``: type and number of elements by stage."""

    spec: ModelSpec
    machine: Machine
    sizes: dict[str, tuple[str, int]]
    _hits: dict[str, int] = field(default_factory=dict)

    @property
    def engine(self) -> Engine:
        """What runs it."""
        return self.machine.engine

    @property
    def arena_address(self) -> int:
        """Buffers lie in PSRAM, wherever the image's data end."""
        return 0

    def move_arena(self, address: int) -> None:
        """Nothing to move."""

    def run(self) -> Failed | None:
        """See Prepared."""
        self.engine.run()
        return None

    def digests(self) -> tuple[dict[str, int], Failed | None]:
        """See Prepared; the host computes them."""
        found: dict[str, int] = {}

        def note(shown: Shown, watch: Watch) -> None:
            found.setdefault(shown.stage, digest(shown.values))

        watch = Watch(self, {}, note, keeps_calls=False).run()
        if watch.trap is not None:
            raise watch.trap
        return found, watch.failed

    def tap(self, tell: OnTap) -> list[Hook]:
        """See Prepared."""
        return list(self._taps(tell))

    def _taps(self, tell: OnTap) -> Iterator[Hook]:
        image = self.engine.image
        if TAP in image.symbols:
            yield self.engine.hook(TAP, lambda call: self._tapped(call, tell))
        for name, at in self.spec.stages.items():
            yield self.engine.hook(address_of(image, at.where), self._place(name, tell))

    def _tapped(self, call: GuestCall, tell: OnTap) -> object:
        name = call.string(call.argument(0)).decode("utf-8", "replace")
        kind, count = call.argument(2), call.argument(3)
        dtype = DTYPES[kind] if kind < len(DTYPES) else "uint8"
        piece, values = _piece(call, call.argument(1), count, dtype)
        return tell(call, name, piece, values, True)

    def _place(self, name: str, tell: OnTap) -> Callable[[GuestCall], object]:
        def reached(call: GuestCall) -> object:
            at = self.spec.stages[name]
            self._hits[name] = self._hits.get(name, 0) + 1
            if self._hits[name] != at.hit:
                return None
            dtype, count = self.sizes[name]
            return tell(call, name, *_piece(call, pointer_of(call, at.data), count, dtype), False)

        return reached


def _piece(call: GuestCall, address: int, count: int, dtype: str) -> tuple[guest.Piece, AnyArray]:
    piece = guest.Piece(address, 0, 0, 1, count, count, count, count)
    try:
        data = call.data(address, count * np.dtype(dtype).itemsize)
    except MemoryFault:
        return piece, np.zeros((1, 0), dtype)
    return piece, np.frombuffer(data, dtype).reshape(1, count)


def digest(values: AnyArray) -> int:
    """A digest of any stage; types that the firmware's digests lack count by their bytes."""
    flat = np.ascontiguousarray(values).reshape(-1)
    return stage_digest(flat if flat.dtype.name in _DIGESTED else flat.view(np.uint8))


def spec_runs(spec: ModelSpec, examples: int, seed: int, example: int | None = None) -> Iterator[SpecRun]:
    """The first examples of a model, or one of them."""
    first, count = (0, examples) if example is None else (example, 1)
    for number, case in cases(spec.kernel(), seed, first, count):
        yield SpecRun(spec, case, number)
