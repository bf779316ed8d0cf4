"""Goldens in the ledger: recorded, checked, accepted; a run for each target, a result for each golden."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from emu.goldens.check import Checked
from emu.ledger.writer import Cost, Result, Run, RunWriter
from emu.verify.records import package_version
from emu.verify.reference import reference_elf


class GoldenRuns:
    """The runs of one command; nothing is written for a target before its first result.

    Used as a context manager, as :class:`emu.ledger.writer.RunWriter` is.
    """

    def __init__(self, kind: str, elf: Path | None) -> None:
        self._kind, self._elf = kind, elf
        self._writers: dict[str, RunWriter] = {}
        self._open = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        self._open.__exit__(*error)

    def add(self, target: str, result: Result, costs: Mapping[str, Cost]) -> None:
        """Keep a result of a target."""
        if target not in self._writers:
            self._writers[target] = self._open.enter_context(RunWriter(self._run(target)))
        self._writers[target].add(result, costs)

    def _run(self, target: str) -> Run:
        sha256, name = "", None
        if target != "mirror":
            from hashlib import sha256 as hashed

            elf = self._elf or reference_elf()
            sha256, name = hashed(elf.read_bytes()).hexdigest(), str(elf)
        return Run(self._kind, target, package_version(), name, sha256 or None)

    def end(self, exit_code: int, interrupted: bool = False) -> list[str]:
        """All are over; what went wrong with the ledger."""
        for writer in self._writers.values():
            writer.end(exit_code, interrupted)
        return [note for writer in self._writers.values() for note in writer.notes]


def checked_result(checked: Checked) -> Result:
    """A check as the ledger keeps it."""
    message = ""
    if checked.changes:
        first = checked.changes[0].stage
        message = f"first wrong stage {first}"
    return Result(
        checked.name,
        "mismatch" if checked.changes else "equal",
        cases=1,
        differ=len(checked.changes),
        instructions=checked.instructions,
        seconds=checked.seconds,
        message=message,
        stages=checked.stages,
    )
