"""What became of a mutant, and the file of results that an interrupted campaign goes on with."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any

from emu.mutate.mutant import Mutant, mutant_of
from emu.verify.errors import UsageProblem

FORMAT = "esp32s3-emu mutants"
VERSION = 2


class Status(StrEnum):
    """The end of a mutant. Only killed and survived ones are counted as faults."""

    KILLED = "killed"
    SURVIVED = "survived"
    """No example of the default campaign shows it, and nobody has proven or judged it equivalent."""
    EQUIVALENT = "equivalent"
    UNBUILT = "unbuilt"
    UNREACHED = "unreached"
    """No kernel can execute what was changed."""
    ERROR = "tool error"


@dataclass
class Result:
    """``kernels``: those that may execute the change, the nearest first. ``kernel``: the one that showed it.

    ``how``: mismatch, hang, or the kind of trap. ``example``: number of the example that showed it;
    ``seconds``: until then, without building. ``weight`` and ``size``: non-neutral and all input elements of
    the shrunk case. ``good``, ``bad``: the place that lockstep names in the two images. ``looked_at``:
    examples of a long check by kernel. ``drawn``: digest of the default examples that it ran, by kernel.
    """

    mutant: Mutant
    status: Status
    reason: str = ""
    kernels: list[str] = field(default_factory=list)
    kernel: str = ""
    how: str = ""
    example: int = -1
    seconds: float = 0.0
    build_seconds: float = 0.0
    weight: int = 0
    size: int = 0
    right_kernel: bool = False
    right_place: bool = False
    good: str = ""
    bad: str = ""
    looked_at: dict[str, int] = field(default_factory=dict)
    drawn: dict[str, str] = field(default_factory=dict)

    def record(self) -> dict[str, Any]:
        """As JSON."""
        rest = {name: value for name, value in asdict(self).items() if name != "mutant"}
        return {**self.mutant.record(), **rest}


def result_of(record: dict[str, Any]) -> Result:
    """The result of :meth:`Result.record`."""
    names = [name for name in Result.__dataclass_fields__ if name != "mutant"]
    values = {name: record[name] for name in names}
    return Result(mutant_of(record), **{**values, "status": Status(record["status"])})


@cache
def reasons() -> dict[str, str]:
    """Why single mutants compute the same, by name: written by people who read the code (reasons.json)."""
    found: dict[str, str] = json.loads((Path(__file__).parent / "reasons.json").read_text())
    return found


class ResultFile:
    """One JSON object a line: a head, then results; of several of one mutant the last one counts."""

    def __init__(self, path: Path, firmware: str) -> None:
        self.path = path
        self._head = {"format": FORMAT, "version": VERSION, "firmware": firmware}

    def load(self) -> dict[str, Result]:
        """Results by name of the mutant; none without a file. Raises UsageProblem for another firmware's."""
        if not self.path.exists():
            return {}
        lines = self.path.read_text().splitlines()
        try:
            head, *records = [json.loads(line) for line in lines if line.endswith("}")]
            found = {record["id"]: result_of(record) for record in records}
        except (ValueError, KeyError, TypeError) as error:
            raise UsageProblem(f"{self.path}: not a file of mutants' results ({error})") from error
        if head != self._head:
            raise UsageProblem(
                f"{self.path}: results of another firmware or version; name another folder with --folder"
            )
        return found

    def add(self, result: Result) -> None:
        """Append a result."""
        is_new = not self.path.exists()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as file:
            if is_new:
                file.write(json.dumps(self._head) + "\n")
            file.write(json.dumps(result.record()) + "\n")
