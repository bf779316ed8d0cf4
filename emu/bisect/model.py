"""A model on a bad image, from its first wrong stage down to the instruction."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, cast

from emu.bisect import stages
from emu.bisect.findings import Finding, KernelFinding, StageFinding
from emu.bisect.functions import origin_of, places_of
from emu.bisect.glue import first_wrong_call, instruction_before
from emu.bisect.kernel_calls import KernelCall
from emu.bisect.kernel_instruction import in_kernel
from emu.bisect.model_runs import Failed, Golden, Prepared, Run
from emu.bisect.replay import Replayer
from emu.bisect.smallest import smallest
from emu.bisect.watch import Shown, Watch, Window
from emu.cpu.options import EngineOptions
from emu.cpu.traps import Trap
from emu.image import Image
from emu.kernels.spec import Kernel

_PIECES = 16
"""Pieces before a wrong one from which on calls are recorded."""

Say = Callable[[str], None]
Explain = Callable[[Kernel, Any, Any], list[str]]


@dataclass
class ModelBisect:
    """``bad``: the image under test; ``good``: an image to compare instructions with, None without one.

    ``golden_from``: where right stages come from: the mirror (None) or the good image. ``say`` is told what
    is being done; ``kept`` of every finding while it grows.
    """

    bad: Image
    good: Image | None
    kernels: Mapping[str, Kernel]
    fused: str = "fused"
    tier: str = "translator"
    is_mirror_golden: bool = True
    say: Say = lambda text: None
    keep: Callable[[Finding], None] = lambda finding: None
    explain: Explain | None = None
    on_equal: Callable[[str], None] = lambda label: None
    shrink_seconds: float = 4.0
    finding: Finding = field(default_factory=Finding)
    _arena: int = 0
    _golden: Golden = field(default_factory=lambda: Golden("", []))
    _compared: int = 0
    _calls_from: int = 0

    def run(self, runs: Iterable[Run]) -> Finding:
        """Try the runs one after the other up to the first that differs. Raises RunError, ModelError."""
        for model_run in runs:
            with self._timed("stages", f"{model_run.label}: stages by digest"):
                found = self._first_stage(model_run)
            self.finding.compared += self._compared
            if found:
                self._inside(model_run)
                return self.finding
            self.on_equal(model_run.label)
        self.finding.equal = True
        return self.finding

    # --- stages ------------------------------------------------------------------------------------------
    def _first_stage(self, model_run: Run) -> bool:
        self._golden = self._golden_of(model_run)
        trap: Trap | None = None
        found: dict[str, int] = {}
        failed: Failed | None = None
        prepared = self._prepared(model_run, self.bad)
        try:
            found, failed = prepared.digests()
        except Trap as caught:
            trap = caught
            found = self._watched_digests(model_run)
        wrong = stages.compare_digests(self._golden, found, failed)
        self._compared = len(self._golden.digests)
        if wrong is None and trap is None:
            return False
        first = wrong.first if wrong else ""
        end = str(trap).splitlines()[0] if trap is not None else _end(failed, self._golden.failed)
        self.finding.stage = StageFinding(
            model_run.label, first, wrong.wrong if wrong else (), self._compared, end=end
        )
        self.keep(self.finding)
        return True

    def _golden_of(self, model_run: Run) -> Golden:
        if self.is_mirror_golden or self.good is None:
            return model_run.golden()
        golden = Golden(self.good.name, model_run.order())
        watch = Watch(self._prepared(model_run, self.good), {}, stages.Whole(golden), keeps_calls=False).run()
        if watch.trap is not None:
            raise watch.trap
        golden.failed = watch.failed
        return golden

    def _watched_digests(self, model_run: Run) -> dict[str, int]:
        """Stages that were complete before a trap ended the run."""
        told = Golden(self.bad.name, [])
        Watch(self._prepared(model_run, self.bad), {}, stages.Whole(told), keeps_calls=False).run()
        return told.digests

    def _prepared(self, model_run: Run, image: Image) -> Prepared:
        """A run with its working memory where the other image has it too."""
        options = EngineOptions(tier=cast(Any, self.tier), fused=cast(Any, self.fused))
        if not self._arena and self.good is not None:
            made = [model_run.prepare(i, options) for i in (self.bad, self.good)]
            self._arena = max(m.arena_address for m in made)
        prepared = model_run.prepare(image, options)
        if self._arena:
            prepared.move_arena(self._arena)
        return prepared

    # --- inside the stage ----------------------------------------------------------------------------------
    def _inside(self, model_run: Run) -> None:
        found = self.finding
        assert found.stage is not None
        with self._timed("isolated rerun", "the stages on golden inputs"):
            found.stage.own = tuple(
                stages.wrong_by_themselves(self._prepared(model_run, self.bad), self._golden)
            )
        self.keep(found)
        with self._timed("recorded calls", f"calls of kernels before {found.stage.stage or 'the end'}"):
            watch = self._recorded(model_run)
        with self._timed("replay", "recorded calls against their mirrors"):
            replayer = Replayer(self.bad, self.fused, self.tier)
            replayed = replayer.first_wrong(watch.window().calls)
        if replayed.skipped:
            found.notes.append(f"{replayed.skipped} recorded calls could not be replayed")
        if replayed.wrong is not None and not replayed.broken:
            self._kernel(replayed.wrong, replayed.outcome, replayed.calls, replayer)
        else:
            if replayed.broken:
                found.notes.append(replayed.broken)
            found.notes.append(f"all {replayed.calls} calls of kernels in it compute what their mirrors say")
            self._between(model_run, watch)
        self.keep(found)

    def _recorded(self, model_run: Run) -> Watch:
        """The run up to the first wrong piece of the stage, with the calls that led to it."""
        stage = self.finding.stage
        assert stage is not None
        golden = self._golden.tensors.get(stage.stage)
        if golden is None:
            return Watch(self._prepared(model_run, self.bad), self.kernels).run()
        stage.difference = stages.stage_difference(
            self._prepared(model_run, self.bad), stage.stage, self._golden
        )
        look = stages.until_wrong(stage.stage, golden)
        there = Watch(self._prepared(model_run, self.bad), {}, look, keeps_calls=False).run()
        self._calls_from = max(there.pieces - _PIECES, 0)
        return Watch(
            self._prepared(model_run, self.bad), self.kernels, look, calls_from=self._calls_from
        ).run()

    def _kernel(self, call: KernelCall, outcome: Any, calls: int, replayer: Replayer) -> None:
        found, case = self.finding, call.case
        assert case is not None
        with self._timed("smallest input", f"a small input for {call.symbol}"):
            small = smallest(call.kernel, case, outcome, replayer, call.is_exact, self.shrink_seconds)
        found.kernel = KernelFinding(call.symbol, calls, outcome, dict(case.dims), small)
        self.keep(found)
        with self._timed("instruction", "the first wrong instruction"):
            found.instruction, found.against = in_kernel(
                call.kernel, small.case, self.bad, self.good, self.fused
            )
        if self.explain is not None:
            with self._timed("causes", "known causes"):
                found.kernel.causes = self.explain(call.kernel, small.case, small.case)
        if found.instruction is not None:
            found.function = origin_of(self.good, self.bad, found.instruction.bad.where)
            found.places = places_of(self.bad, found.instruction)

    # --- between kernels -----------------------------------------------------------------------------------
    def _between(self, model_run: Run, watch: Watch) -> None:
        found = self.finding
        if self.good is None or self.good.sha256 == self.bad.sha256:
            found.notes.append(
                "the fault lies between the kernels (arguments, order, glue code); a good image (--good) "
                "would show where"
            )
            return
        with self._timed("good image", "the same stretch of the good image"):
            last = watch.events[-1] if watch.events else None
            if isinstance(last, Shown):
                look = stages.until_piece(last.stage, last.nth)
            else:
                look = stages.never
            good = Watch(
                self._prepared(model_run, self.good), self.kernels, look, calls_from=self._calls_from
            ).run()
        windows = good.window(), watch.window()
        found.wrong_call = first_wrong_call(windows[0], windows[1], (self.good, self.bad))
        if found.wrong_call is None:
            found.notes.append("every kernel is called as in the good image; nothing between them differs")
            return
        self.keep(found)
        with self._timed("instruction", "the first wrong instruction"):
            self._instruction(model_run, windows, found.wrong_call.place)
        if not found.function:
            found.function = origin_of(self.good, self.bad, found.wrong_call.caller)

    def _instruction(self, model_run: Run, windows: tuple[Window, Window], place: int) -> None:
        assert self.good is not None
        found = self.finding
        pair = [self._prepared(model_run, image) for image in (self.good, self.bad)]
        found.instruction = instruction_before(pair[0], pair[1], windows, place, self.kernels)
        found.against = f"the good image {self.good.name}"
        if found.instruction is not None:
            found.function = origin_of(self.good, self.bad, found.instruction.bad.where)
            found.places = places_of(self.bad, found.instruction)

    @contextmanager
    def _timed(self, name: str, what: str) -> Iterator[None]:
        self.say(what)
        started = time.monotonic()
        try:
            yield
        finally:
            spent = self.finding.seconds.get(name, 0.0) + time.monotonic() - started
            self.finding.seconds[name] = round(spent, 3)


def _end(failed: Failed | None, golden: Failed | None) -> str:
    """How a run ended, where that differs from the golden one."""
    if failed == golden:
        return ""
    ends = [
        "to its end" if f is None else f"to {f[0]}, row {f[1]}, which is not finite" for f in (failed, golden)
    ]
    return f"the run goes {ends[0]}, the golden one {ends[1]}"
