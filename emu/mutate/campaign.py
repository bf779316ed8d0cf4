"""A mutation campaign: the unchanged firmware first, then mutants in workers, results kept at once."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from emu.kernels.spec import Kernel
from emu.mutate.baseline import Baseline, measure
from emu.mutate.builder import Base
from emu.mutate.judge import Judge, Settings
from emu.mutate.mutant import Mutant
from emu.mutate.result import Result, ResultFile, Status
from emu.verify.errors import ToolError, UsageProblem
from emu.verify.pool import Handler, Pool

Listener = Callable[[int, int, Result | None], None]
"""(done, wanted, the result that has just come) -> nothing."""


@dataclass(frozen=True)
class _Look:
    """A second, longer look at a survivor."""

    result: Result


def baselines(
    base: Base, kernels: Mapping[str, Kernel], settings: Settings, jobs: int
) -> dict[str, Baseline]:
    """Each kernel on the unchanged image; measured once. Raises UsageProblem when one is not equal there."""
    path = settings.folder / "baselines.json"
    head = {"elf": hashlib.sha256(base.elf.read_bytes()).hexdigest(), "examples": settings.examples}
    if path.is_file() and (known := json.loads(path.read_text()))["head"] == head:
        return {symbol: Baseline(**values) for symbol, values in known["kernels"].items()}
    found = _measured(base, kernels, settings, jobs)
    wrong = [b.kernel for b in found.values() if b.bad]
    if wrong:
        raise UsageProblem(
            f"the unchanged firmware differs from its mirrors in {', '.join(wrong)}: run emu verify first"
        )
    path.write_text(json.dumps({"head": head, "kernels": {s: asdict(b) for s, b in found.items()}}))
    return found


def _measured(
    base: Base, kernels: Mapping[str, Kernel], settings: Settings, jobs: int
) -> dict[str, Baseline]:

    def factory() -> Handler:
        _own_cache(settings.folder)
        return lambda symbol, progress: measure(base, kernels[symbol], settings.examples)

    found: dict[str, Baseline] = {}
    pool = Pool(jobs, factory)
    try:
        for event in pool.run(list(kernels)):
            if event is not None and event.kind != "progress":
                if event.kind != "result":
                    raise ToolError(f"{event.task} on the unchanged firmware: {event.value}")
                found[event.task] = event.value
    finally:
        pool.close()
    return found


@dataclass
class Campaign:
    """Judges mutants with ``jobs`` workers; results go to ``file`` as they come."""

    base: Base
    kernels: Mapping[str, Kernel]
    settings: Settings
    file: ResultFile
    jobs: int
    listen: Listener = lambda done, wanted, result: None

    def run(self, mutants: Sequence[Mutant], again: Sequence[Status] = ()) -> dict[str, Result]:
        """Judge those that have no result yet, or one of ``again``; survivors get a long look afterwards.

        Ctrl-C ends it with what is there: the same command goes on.
        """
        results = {
            m.ident: r for m in mutants if (r := self.file.load().get(m.ident)) and r.status not in again
        }
        todo: list[Mutant] = [m for m in mutants if m.ident not in results]
        open_ones = [r for r in results.values() if _is_open(r)]
        if todo or open_ones:
            known = baselines(self.base, self.kernels, self.settings, self.jobs)
            self._work(known, todo, results, len(mutants))
            if self.settings.long_examples > self.settings.examples:
                looks = [_Look(r) for r in results.values() if _is_open(r)]
                self._work(known, looks, results, len(mutants))
        return results

    def _work(
        self, known: Mapping[str, Baseline], tasks: Sequence[Any], results: dict[str, Result], wanted: int
    ) -> None:
        numbers = itertools.count()
        pool = Pool(min(self.jobs, len(tasks)) or 1, lambda: self._handler(known, next(numbers)))
        try:
            for event in pool.run(tasks):
                if event is None or event.kind == "progress":
                    continue
                result = event.value if event.kind == "result" else _failed(event.task, str(event.value))
                self.file.add(result)
                results[result.mutant.ident] = result
                self.listen(len(results), wanted, result)
        finally:
            pool.close()

    def _handler(self, known: Mapping[str, Baseline], number: int) -> Handler:
        _own_cache(self.settings.folder)
        scratch = self.settings.folder / f"worker-{os.getpid()}"
        judge = Judge(self.base, self.settings, self.kernels, known, scratch)

        def handle(task: Mutant | _Look, progress: Callable[[int], None]) -> Result:
            return judge.look_longer(task.result) if isinstance(task, _Look) else judge.judge(task)

        return handle


def _is_open(result: Result) -> bool:
    """Survived, and nobody has looked longer yet."""
    return result.status is Status.SURVIVED and not result.reason


def _failed(task: Mutant | _Look, text: str) -> Result:
    if isinstance(task, _Look):
        return replace(task.result, reason=text)
    return Result(task, Status.ERROR, text)


def _own_cache(folder: Path) -> None:
    """Translations of mutants do not belong into the user's cache."""
    os.environ["EMU_CACHE_DIR"] = str(folder / "cache")


def open_ones(results: Mapping[str, Result]) -> Iterator[Result]:
    """Survivors that a long look has not decided about."""
    return (r for r in results.values() if _is_open(r))
