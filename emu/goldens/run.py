"""One run of a golden's definition on a target: digests of all stages, tensors of the wanted ones."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from emu.cpu.options import EngineOptions
from emu.goldens.definition import Definition
from emu.ledger.writer import Cost
from emu.models.costs import StageCosts
from emu.models.errors import PromptError
from emu.models.modelfile.kinds import Kind
from emu.models.modelfile.reader import ModelFile
from emu.models.names import in_order, t2i_stages, ternary_stages, tinylm_stages
from emu.models.stages import Digests, Tap
from emu.models.t2i.mirror import Request, T2iMirror
from emu.models.t2i.shapes import stage_shape
from emu.models.ternary.mirror import TernaryMirror, stage_shapes
from emu.models.tinylm.layout import CONTEXT
from emu.models.tinylm.mirror import STAGES, TinylmMirror
from emu.models.tinylm.tokenizer import Tokenizer
from emu.numerics.types import AnyArray

if TYPE_CHECKING:
    from emu.models.on_image import ImageModel

TargetName = Literal["mirror", "image"]


@dataclass
class Recording:
    """What a run gave: digest, dtype and shape by stage, in order; the tensors that were wanted."""

    digests: dict[str, int] = field(default_factory=dict)
    tensors: dict[str, AnyArray] = field(default_factory=dict)
    instructions: int = 0
    costs: dict[str, Cost] = field(default_factory=dict)
    """What the stages took on the image, by family."""


@dataclass(frozen=True)
class Runner:
    """Runs definitions on ``target``; ``elf`` and ``options`` belong to the image."""

    target: TargetName
    elf: Path | None = None
    options: EngineOptions | None = None

    def run(self, definition: Definition, file: ModelFile, patterns: Sequence[str] = ()) -> Recording:
        """Raises ModelError, Trap, ImageError."""
        wanted = _wanted(patterns)
        function = _FUNCTIONS[definition.kind]
        recording = function(self, definition, file, wanted)
        recording.digests = in_order(recording.digests, stage_names(definition, file))
        recording.tensors = {n: recording.tensors[n] for n in recording.digests if n in recording.tensors}
        return recording


def stage_names(definition: Definition, file: ModelFile) -> list[str]:
    """All stages of the run in order."""
    if definition.kind is Kind.T2I:
        return t2i_stages(definition.steps)
    if definition.kind is Kind.TERNARY:
        return ternary_stages()
    return tinylm_stages(range(len(_prompt_tokens(definition, file)) + definition.steps))


def _wanted(patterns: Sequence[str]) -> Callable[[str], bool]:
    return lambda name: any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


class _Keeper:
    """A tap of the mirror: digests of everything, copies of what is wanted."""

    def __init__(self, wanted: Callable[[str], bool]) -> None:
        self._wanted = wanted
        self._digests = Digests()
        self.recording = Recording(self._digests.values)

    def __call__(self, name: str, values: AnyArray) -> None:
        self._digests(name, values)
        if self._wanted(name):
            self.recording.tensors[name] = np.array(values)


def _image_tap(recording: Recording, shape: Callable[[str, int], tuple[int, ...]]) -> Tap:
    def tell(name: str, values: AnyArray) -> None:
        recording.tensors[name] = values.reshape(shape(name, values.size))

    return tell


@contextmanager
def _costs_of(image: ImageModel, recording: Recording) -> Iterator[None]:
    with StageCosts(image.engine) as costs:
        yield
    recording.costs = {stage: Cost(n, costs.seconds[stage]) for stage, n in costs.instructions.items()}


def _elf(runner: Runner) -> Path:
    from emu.verify.reference import reference_elf

    return runner.elf or reference_elf()


def _t2i(runner: Runner, definition: Definition, file: ModelFile, wanted: Callable[[str], bool]) -> Recording:
    mirror = T2iMirror(file)
    tokens = mirror.tokens(definition.text)
    request = Request(tokens, definition.seed, definition.steps, np.float32(definition.cfg))
    if runner.target == "mirror":
        keeper = _Keeper(wanted)
        mirror.run(request, keeper)
        return keeper.recording
    from emu.models.on_image import ImageT2i

    image, recording = ImageT2i(file, _elf(runner), runner.options), Recording()
    with _costs_of(image, recording):
        image.run(request, _image_tap(recording, stage_shape), wanted)
    recording.digests, recording.instructions = image.outcome.digests, image.outcome.instructions
    return recording


def _ternary(
    runner: Runner, definition: Definition, file: ModelFile, wanted: Callable[[str], bool]
) -> Recording:
    text = definition.text.encode()
    if runner.target == "mirror":
        keeper = _Keeper(wanted)
        TernaryMirror(file).run(text, keeper)
        return keeper.recording
    from emu.models.on_image import ImageTernary

    image, recording = ImageTernary(file, _elf(runner), runner.options), Recording()
    shapes = dict(stage_shapes(file.outputs))
    with _costs_of(image, recording):
        image.run(text, _image_tap(recording, lambda name, size: shapes[name]), wanted)
    recording.digests, recording.instructions = image.outcome.digests, image.outcome.instructions
    return recording


def _prompt_tokens(definition: Definition, file: ModelFile) -> list[int]:
    tokenizer = Tokenizer(file.array("tok.start"), file.array("tok.bytes"))
    tokens: list[int] = tokenizer.encode(definition.text.encode()).tolist()
    if not tokens or len(tokens) + definition.steps > CONTEXT:
        raise PromptError(
            f"a text of {len(tokens)} tokens and {definition.steps} after it; at least one, "
            f"and {CONTEXT} together, are possible"
        )
    return tokens


def _tinylm(
    runner: Runner, definition: Definition, file: ModelFile, wanted: Callable[[str], bool]
) -> Recording:
    """The text, then tokens that the target chooses from its own logits."""
    tokens = _prompt_tokens(definition, file)
    keeper = _Keeper(wanted)
    if runner.target == "mirror":
        mirror = TinylmMirror(file, definition.seed)
        _follow(tokens, definition.steps, lambda token: mirror.choose(mirror.step(token, keeper)))
        return keeper.recording
    from emu.models.on_image import ImageTinylm

    image, recording = ImageTinylm(file, _elf(runner), runner.options), Recording()
    image.start(definition.seed, len(tokens) + definition.steps)
    known = dict(STAGES)
    tap = _image_tap(recording, lambda name, size: known[name.partition(".")[2]])
    with _costs_of(image, recording):
        _follow(tokens, definition.steps, lambda token: image.choose(image.step(token, tap, wanted)))
    recording.digests, recording.instructions = image.outcome.digests, image.outcome.instructions
    return recording


def _follow(tokens: list[int], more: int, step: Callable[[int], int]) -> None:
    for place in range(len(tokens) + more):
        chosen = step(tokens[place])
        if place == len(tokens) - 1:
            tokens.append(chosen)


_FUNCTIONS = {Kind.T2I: _t2i, Kind.TERNARY: _ternary, Kind.TINYLM: _tinylm}
