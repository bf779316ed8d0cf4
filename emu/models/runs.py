"""One run of a model on a target, as the commands want it: result, wanted stages, digests, times."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from emu.models.clock import StageClock
from emu.models.modelfile.reader import ModelFile
from emu.models.names import chooser, in_order, t2i_stages
from emu.models.stages import Digests, Recorder, Tap, chain
from emu.models.t2i.mirror import Request, T2iMirror
from emu.numerics.types import AnyArray, U8Array

Progress = Callable[[int], Any]


@dataclass
class Run:
    """What a run gave: the result, the wanted stages, digests of all stages, seconds, facts of the image."""

    result: Any
    stages: dict[str, AnyArray] = field(default_factory=dict)
    digests: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    step_seconds: list[float] = field(default_factory=list)
    stage_seconds: dict[str, float] = field(default_factory=dict)
    instructions: int = 0
    arena_high: int = 0
    slow_high: int = 0


class Stopwatch:
    """A progress function that also notes how long each step took."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self.started = self._last = time.perf_counter()
        self.steps: list[float] = []

    def __call__(self, step: int) -> None:
        """Step number ``step`` (from 1) is done."""
        now = time.perf_counter()
        self.steps.append(now - self._last)
        self._last = now
        self._progress(step)


def draw(
    file: ModelFile,
    request: Request,
    target: str,
    elf: Path | None,
    patterns: Sequence[str],
    digests: bool,
    progress: Progress,
    times: bool = False,
) -> Run:
    """A picture on the mirror or on the image ``elf``; ``times``: also the time of every stage."""
    names = t2i_stages(request.steps)
    recorder = Recorder(tuple(patterns))
    wanted = chooser(patterns, names) if patterns else None
    watch = Stopwatch(progress)
    if target == "mirror":
        run = _draw_mirror(file, request, recorder if patterns else None, digests, watch, times)
    else:
        assert elf is not None
        run = _draw_image(file, request, elf, (recorder, wanted) if wanted else None, digests, watch, times)
    run.digests = in_order(run.digests, names)
    run.stages = {name: recorder.stages[name] for name in names if name in recorder.stages}
    run.step_seconds = watch.steps
    return run


def _draw_mirror(
    file: ModelFile,
    request: Request,
    recorder: Recorder | None,
    digests: bool,
    watch: Stopwatch,
    times: bool,
) -> Run:
    mirror, table, clock = T2iMirror(file), Digests(), StageClock()
    wanted = (clock if times else None, recorder, table if digests else None)
    taps: list[Tap] = [tap for tap in wanted if tap is not None]
    watch.started = watch._last = time.perf_counter()
    clock.start()
    picture: U8Array = mirror.run(request, chain(*taps) if taps else None, watch)
    seconds = time.perf_counter() - watch.started
    return Run(picture, digests=table.values, seconds=seconds, stage_seconds=dict(clock.seconds))


def _draw_image(
    file: ModelFile,
    request: Request,
    elf: Path,
    taps: Any,
    digests: bool,
    watch: Stopwatch,
    times: bool,
) -> Run:
    from emu.models.costs import StageCosts
    from emu.models.on_image import ImageT2i

    image = ImageT2i(file, elf)
    costs = StageCosts(image.engine)
    done = 0

    def step(call: object) -> None:
        nonlocal done
        done += 1
        watch(done)

    image.engine.hook("flow_step", step)
    watch.started = watch._last = time.perf_counter()
    tap, wanted = taps or (None, None)
    with costs if times else nullcontext():
        picture = image.run(request, _shaped(tap) if tap else None, wanted, digests or times)
    out = image.outcome
    seconds = time.perf_counter() - watch.started
    return Run(
        picture,
        digests=out.digests,
        seconds=seconds,
        stage_seconds=dict(costs.seconds),
        instructions=out.instructions,
        arena_high=out.arena_high,
        slow_high=out.slow_high,
    )


def _shaped(tap: Tap) -> Tap:
    """A tap that gets the stages of a picture in their shapes; the image hands them over flat."""
    from emu.models.t2i.shapes import stage_shape

    def tell(name: str, values: AnyArray) -> None:
        tap(name, values.reshape(stage_shape(name, values.size)))

    return tell
