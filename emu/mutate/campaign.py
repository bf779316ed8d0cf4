"""A mutation campaign: the unchanged firmware first, then mutants in workers, results kept at once."""

from __future__ import annotations

import math
import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from emu.kernels.spec import Kernel
from emu.mutate.builder import Base
from emu.mutate.judge import Judge, Settings
from emu.mutate.mutant import Mutant
from emu.mutate.result import Result, ResultFile, Status
from emu.verify.pool import Handler, Pool

Listener = Callable[[int, int, Result | None], None]
"""(done, wanted, the result that has just come) -> nothing."""


@dataclass(frozen=True)
class _Look:
    """A second, longer look at a survivor."""

    result: Result


@dataclass
class Campaign:
    """Judges mutants with ``jobs`` workers; results go to ``file`` as they come."""

    base: Base
    kernels: Mapping[str, Kernel]
    settings: Settings
    file: ResultFile
    jobs: int
    seconds: float = math.inf
    listen: Listener = lambda done, wanted, result: None

    def run(self, mutants: Sequence[Mutant], again: Sequence[Status] = ()) -> dict[str, Result]:
        """Judge those that have no result yet, or one of ``again``; survivors get a long look afterwards.

        Ctrl-C ends it with what is there, and so does the end of ``seconds``, after the mutants in work: the
        same command goes on.
        """
        end = time.monotonic() + self.seconds
        known = self.file.load()
        results = {m.ident: r for m in mutants if (r := known.get(m.ident)) and r.status not in again}
        todo: list[Mutant] = [m for m in mutants if m.ident not in results]
        if todo or any(_is_open(r) for r in results.values()):
            self._work(todo, results, len(mutants), end)
            if self.settings.long_examples > self.settings.examples:
                looks = [_Look(r) for r in results.values() if _is_open(r)]
                self._work(looks, results, len(mutants), end)
        return results

    def _work(self, tasks: Sequence[Any], results: dict[str, Result], wanted: int, end: float) -> None:
        in_time = (task for task in tasks if time.monotonic() < end)
        pool = Pool(min(self.jobs, len(tasks)) or 1, self._handler)
        try:
            for event in pool.run(in_time):
                if event is None or event.kind == "progress":
                    continue
                result = event.value if event.kind == "result" else _failed(event.task, str(event.value))
                self.file.add(result)
                results[result.mutant.ident] = result
                self.listen(len(results), wanted, result)
        finally:
            pool.close()
            shutil.rmtree(self.settings.folder / "workers", ignore_errors=True)

    def _handler(self) -> Handler:
        _own_cache(self.settings.folder)
        scratch = self.settings.folder / "workers" / str(os.getpid())
        judge = Judge(self.base, self.settings, self.kernels, scratch)

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
