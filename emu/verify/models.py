"""``emu verify --models``: every stage of every model, mirror against firmware image, by digest.

Only where a digest differs is the tensor itself fetched from both sides, that of the first differing stage:
stages are compared in the order of the model, so it is the first one that went wrong.
"""

from __future__ import annotations

import fnmatch
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from emu.cpu.engine import Engine
from emu.cpu.options import EngineOptions
from emu.cpu.traps import Trap
from emu.image import Image
from emu.ledger.writer import Cost
from emu.models.costs import StageCosts
from emu.models.errors import NotFiniteError
from emu.models.modelfile.kinds import Kind
from emu.models.modelfile.reader import ModelFile
from emu.models.names import in_order, t2i_stages, ternary_stages, tinylm_stages
from emu.models.on_image import ImageT2i, ImageTernary, ImageTinylm
from emu.models.stages import Digests, Recorder, Tap, chain
from emu.models.t2i.mirror import Request, T2iMirror
from emu.models.ternary.mirror import TernaryMirror
from emu.models.tinylm.mirror import TinylmMirror
from emu.numerics.types import AnyArray
from emu.verify.compare import Difference, difference
from emu.verify.errors import LinkTrouble, TargetFault
from emu.verify.verdict import Verdict

SEEDS: Final = (1, 2, 3)
SAMPLES: Final = 200
TOKENS: Final = 64
PROMPTS: Final = 5
STEPS: Final = 8
PICTURES: Final = 3
PICTURE_PROMPT: Final = "улыбающаяся девушка со светлыми волосами"  # noqa: RUF001

Failed = tuple[str, int]
"""Stage and row of a status 4."""


@dataclass(frozen=True)
class Sides:
    """One run on both sides; ``error``: where it stopped with status 4, None when it did not."""

    mirror: dict[str, int]
    image: dict[str, int]
    mirror_error: Failed | None
    image_error: Failed | None
    instructions: int
    arena_high: int


_NOT_IN_JSON = ("kind", "detail", "verdict", "strip", "strip_run", "data", "options", "effort", "costs")


@dataclass
class Report:
    """All runs of one model with one set of weights."""

    kind: Kind
    weights: str
    runs: int = 0
    stages: int = 0
    differing: int = 0
    instructions: int = 0
    arena_high: int = 0
    seconds: float = 0.0
    verdict: Verdict = Verdict.EQUAL
    run: str = ""
    first: str = ""
    detail: Difference | None = None
    message: str = ""
    strip: dict[str, bool | None] = field(default_factory=dict)
    """Stages of one run in order: the same on both sides, not, None on one side only. ``strip_run``: of the
    run that differs, else of the first."""
    strip_run: str = ""
    data: bytes | None = None
    options: EngineOptions | None = None
    effort: Effort | None = None
    costs: dict[str, Cost] = field(default_factory=dict)
    """What the stages of the first run took on the image, by family."""

    def as_json(self) -> dict[str, Any]:
        """For a report file."""
        found = {k: v for k, v in self.__dict__.items() if k not in _NOT_IN_JSON}
        detail = None if self.detail is None else dict(self.detail.__dict__)
        costs = {stage: cost.instructions for stage, cost in self.costs.items()}
        return {
            **found,
            "kind": self.kind.label,
            "verdict": str(self.verdict),
            "difference": detail,
            "stage_instructions": costs,
        }


class Pair:
    """A model on both targets, and the runs that it is compared in."""

    def __init__(self, file: ModelFile, image: Image, options: EngineOptions) -> None:
        self.file, self.image, self.options = file, image, options

    def runs(self, effort: Effort) -> Iterator[str]:
        """Names of the runs, one after the other; :meth:`both` and :meth:`tensors` repeat them by name."""
        raise NotImplementedError

    def names(self) -> list[str]:
        """All stages of the runs, in order."""
        raise NotImplementedError

    def engine(self) -> Engine | None:
        """The engine that the image runs on; None when it is no image but a board."""
        found: Engine | None = getattr(getattr(self, "_image", None), "engine", None)
        return found

    def both(self, run: str, mirror_tap: Tap | None, image_tap: tuple[Tap, str] | None = None) -> Sides:
        """Run on both sides; ``image_tap``: (tap, pattern of the stages that it wants)."""
        raise NotImplementedError


@dataclass(frozen=True)
class Effort:
    """How much is compared: seeds of weights, samples, tokens, steps, with extreme weights or not."""

    seeds: tuple[int, ...] = SEEDS
    samples: int = SAMPLES
    tokens: int = TOKENS
    prompts: int = PROMPTS
    steps: int = STEPS
    extreme: bool = True
    kinds: tuple[Kind, ...] = tuple(Kind)

    def runs(self, kind: Kind) -> int:
        """Runs of one model with one set of weights."""
        return {Kind.T2I: PICTURES, Kind.TERNARY: self.samples, Kind.TINYLM: self.prompts}[kind]


def _caught(function: Callable[[], Any]) -> Failed | None:
    try:
        function()
    except NotFiniteError as error:
        return error.stage, error.row
    return None


def _wants(image_tap: tuple[Tap, str] | None) -> dict[str, Any]:
    return {} if image_tap is None else {"tap": image_tap[0], "wanted": _matching(image_tap[1])}


def _matching(pattern: str) -> Callable[[str], bool]:
    return lambda name: fnmatch.fnmatchcase(name, pattern)


class T2iPair(Pair):
    """Pictures: a prompt, and the null prompt with another seed, fewer steps and a negative guidance."""

    def __init__(self, file: ModelFile, image: Image, options: EngineOptions) -> None:
        super().__init__(file, image, options)
        self._mirror, self._image = T2iMirror(file), ImageT2i(file, image, options)
        self._requests: dict[str, Request] = {}

    def runs(self, effort: Effort) -> Iterator[str]:
        """See Pair."""
        words = self._mirror.tokens(PICTURE_PROMPT)
        nothing = np.zeros(0, np.int32)
        few = max(effort.steps // 4, 1)
        many = np.arange(16, dtype=np.int32) * 3 % 45
        self._requests = {
            f"prompt, {effort.steps} steps": Request(words, 7, effort.steps),
            f"null prompt, {few} steps, cfg -1.5": Request(nothing, 0, few, np.float32(-1.5)),
            "16 words, 1 step": Request(many, 0xFFFFFFFF, 1, np.float32(0)),
        }
        self._steps = effort.steps
        yield from self._requests

    def names(self) -> list[str]:
        """See Pair."""
        return t2i_stages(self._steps)

    def both(self, run: str, mirror_tap: Tap | None, image_tap: tuple[Tap, str] | None = None) -> Sides:
        """See Pair."""
        request, digests = self._requests[run], Digests()
        tap = digests if mirror_tap is None else chain(digests, mirror_tap)
        errors = (
            _caught(lambda: self._mirror.run(request, tap)),
            _caught(lambda: self._image.run(request, **_wants(image_tap))),
        )
        out = self._image.outcome
        return Sides(digests.values, out.digests, *errors, out.instructions, out.arena_high)


class TernaryPair(Pair):
    """Short texts: sums of two numbers, and any bytes of any length."""

    def __init__(self, file: ModelFile, image: Image, options: EngineOptions) -> None:
        super().__init__(file, image, options)
        self._mirror, self._image = TernaryMirror(file), ImageTernary(file, image, options)
        self._texts: dict[str, bytes] = {}

    def runs(self, effort: Effort) -> Iterator[str]:
        """See Pair."""
        rng = np.random.default_rng(17)
        sums = [f"{a}+{b}".encode() for a, b in rng.integers(0, 256, (effort.samples // 2, 2)).tolist()]
        any_bytes = [rng.bytes(int(rng.integers(0, 40))) for _ in range(effort.samples - len(sums))]
        self._texts = {f"sample {i}": text for i, text in enumerate([*sums, *any_bytes])}
        yield from self._texts

    def names(self) -> list[str]:
        """See Pair."""
        return ternary_stages()

    def both(self, run: str, mirror_tap: Tap | None, image_tap: tuple[Tap, str] | None = None) -> Sides:
        """See Pair."""
        text, digests = self._texts[run], Digests()
        tap = digests if mirror_tap is None else chain(digests, mirror_tap)
        errors = (
            _caught(lambda: self._mirror.run(text, tap)),
            _caught(lambda: self._image.run(text, **_wants(image_tap))),
        )
        out = self._image.outcome
        return Sides(digests.values, out.digests, *errors, out.instructions, out.arena_high)


class TinylmPair(Pair):
    """Sequences: some tokens of a prompt, then tokens that the mirror draws from its own logits."""

    def __init__(self, file: ModelFile, image: Image, options: EngineOptions) -> None:
        super().__init__(file, image, options)
        self._mirror, self._image = TinylmMirror(file), ImageTinylm(file, image, options)
        self._tokens: dict[str, list[int]] = {}

    def runs(self, effort: Effort) -> Iterator[str]:
        """See Pair."""
        for i in range(effort.prompts):
            rng = np.random.default_rng(i)
            tokens = rng.integers(0, 4096, min(8, effort.tokens)).tolist()
            self._mirror.start(i)
            _caught(lambda i=i, tokens=tokens: self._continue(tokens, effort.tokens))  # type: ignore[misc]
            self._tokens[f"prompt {i}, {len(tokens)} tokens"] = tokens
        self._length = effort.tokens
        yield from self._tokens

    def _continue(self, tokens: list[int], length: int) -> None:
        for token in tokens[:-1]:
            self._mirror.step(token)
        while len(tokens) < length:
            tokens.append(self._mirror.choose(self._mirror.step(tokens[-1]), 1.0))

    def names(self) -> list[str]:
        """See Pair."""
        return tinylm_stages(range(self._length))

    def both(self, run: str, mirror_tap: Tap | None, image_tap: tuple[Tap, str] | None = None) -> Sides:
        """See Pair."""
        tokens, digests = self._tokens[run], Digests()
        tap = digests if mirror_tap is None else chain(digests, mirror_tap)
        self._mirror.start()
        self._image.start(0, len(tokens))
        errors = (
            _caught(lambda: [self._mirror.step(token, tap) for token in tokens]),
            _caught(lambda: [self._image.step(token, **_wants(image_tap)) for token in tokens]),
        )
        out = self._image.outcome
        return Sides(digests.values, out.digests, *errors, out.instructions, out.arena_high)


PairFactory = Callable[[ModelFile], Pair]

_PAIRS: Final[dict[Kind, type[Pair]]] = {
    Kind.T2I: T2iPair,
    Kind.TERNARY: TernaryPair,
    Kind.TINYLM: TinylmPair,
}


def make_pair(file: ModelFile, image: Image, options: EngineOptions) -> Pair:
    """A model on both targets."""
    return _PAIRS[file.kind](file, image, options)


def first_difference(sides: Sides, names: list[str]) -> tuple[str, int]:
    """(first stage whose digests differ or that one side lacks, number of such stages); "" when none.

    Where both sides stop at the same element that is not finite, the stages that both told count.
    """
    order = in_order(sides.mirror | sides.image, names)
    if sides.mirror_error is not None and sides.mirror_error == sides.image_error:
        order = {name: 0 for name in order if name in sides.mirror and name in sides.image}
    wrong = [name for name in order if sides.mirror.get(name) != sides.image.get(name)]
    return (wrong[0] if wrong else ""), len(wrong)


def _tensor(pair: Pair, run: str, stage: str) -> Difference | None:
    """The difference of the tensors of a stage, fetched from both sides."""
    mirror, image = Recorder((stage,)), Recorder((stage,))
    pair.both(run, mirror, (image, stage))
    if stage not in mirror.stages or stage not in image.stages:
        return None
    expected: AnyArray = mirror.stages[stage]
    flat = np.ascontiguousarray(expected).reshape(-1)
    return difference(stage, expected.shape, flat, image.stages[stage].reshape(-1))


def compare_model(
    kind: Kind,
    data: bytes,
    weights: str,
    image: Image,
    options: EngineOptions,
    effort: Effort,
    make: PairFactory | None = None,
    tell: Callable[[str], None] = lambda run: None,
) -> Report:
    """Compare all runs of one model file; stops at the first run that differs. ``tell``: before each run."""
    report, started = Report(kind, weights, data=data, options=options, effort=effort), time.perf_counter()
    try:
        file = ModelFile(data, f"{kind.label} {weights}")
        pair = make(file) if make is not None else make_pair(file, image, options)
        for run in pair.runs(effort):
            tell(run)
            _compare_run(pair, run, report)
            if report.verdict is not Verdict.EQUAL:
                break
    except (Trap, TargetFault) as fault:
        report.verdict, report.message = Verdict.BOARD_FAULT, str(fault)
    except LinkTrouble as trouble:
        report.verdict, report.message = Verdict.LINK_FAULT, str(trouble)
    report.seconds = time.perf_counter() - started
    return report


def _compare_run(pair: Pair, run: str, report: Report) -> None:
    sides = _both(pair, run, report)
    stage, wrong = first_difference(sides, pair.names())
    report.runs += 1
    report.stages += len(sides.mirror)
    report.instructions += sides.instructions
    report.arena_high = max(report.arena_high, sides.arena_high)
    if stage or not report.strip:
        report.strip, report.strip_run = _strip(sides, pair.names()), run
    if not stage and sides.mirror_error == sides.image_error:
        return
    report.verdict, report.run, report.differing, report.first = Verdict.MISMATCH, run, wrong, stage
    if sides.mirror_error != sides.image_error:
        report.message = f"mirror: {_told(sides.mirror_error)}; image: {_told(sides.image_error)}"
    if stage in sides.mirror and stage in sides.image:
        report.detail = _tensor(pair, run, stage)


def _both(pair: Pair, run: str, report: Report) -> Sides:
    """Run on both sides, the first time with the costs of the stages."""
    engine = pair.engine()
    if engine is None or report.runs:
        return pair.both(run, None)
    with StageCosts(engine) as costs:
        sides = pair.both(run, None)
    report.costs = {stage: Cost(n, costs.seconds[stage]) for stage, n in costs.instructions.items()}
    return sides


def _strip(sides: Sides, names: list[str]) -> dict[str, bool | None]:
    order = in_order(sides.mirror | sides.image, names)
    both = sides.mirror.keys() & sides.image.keys()
    return {n: sides.mirror[n] == sides.image[n] if n in both else None for n in order}


def _told(error: Failed | None) -> str:
    return "finite throughout" if error is None else f"not finite at {error[0]}, row {error[1]}"
