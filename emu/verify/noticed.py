"""What ``--check`` finds: things that the chip does silently, noticed on examples that are run once more.

The examples run on the reference stepper with every diagnostic of the engine (emu.cpu.diagnostics). That is
slow, so only some short ones of each stretch are taken. Findings are no verdicts: code may saturate on
purpose.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from emu.cpu.diagnostics import Finding
from emu.image import Image
from emu.image.location import Location
from emu.kernels.spec import Kernel
from emu.verify.case import Case
from emu.verify.check import Outcome
from emu.verify.errors import TargetFault
from emu.verify.image_target import ImageTarget
from emu.verify.options import Options

CASES = 8
"""Examples of a stretch that are run again."""
LONGEST = 50_000
"""Instructions of an example that is run again."""


@dataclass(frozen=True)
class Notice:
    """``what`` was noticed ``count`` times at ``where``; ``first``: values of the first time, "" if none."""

    what: str
    where: Location
    count: int
    first: str = ""

    def __str__(self) -> str:
        times = f" ({self.count:,} times)" if self.count > 1 else ""
        return f"{self.what}{times} at {self.where}" + (f": {self.first}" if self.first else "")


@dataclass
class Noticed:
    """Notices of one kernel, by what and where; ``examples`` that were looked at; bytes of ``stack`` used."""

    examples: int = 0
    stack: int = 0
    notices: dict[tuple[str, int], Notice] = field(default_factory=dict)

    def add(self, notices: Iterable[Notice]) -> None:
        """Count notices; the first values stay."""
        for new in notices:
            key = (new.what, new.where.address)
            old = self.notices.get(key)
            self.notices[key] = new if old is None else replace(old, count=old.count + new.count)

    def merge(self, other: Noticed) -> None:
        """Add what another stretch of the same kernel found."""
        self.examples += other.examples
        self.stack = max(self.stack, other.stack)
        self.add(other.notices.values())

    def ordered(self) -> list[Notice]:
        """By kind and address."""
        return [notice for _, notice in sorted(self.notices.items())]


class Inspector:
    """Runs examples of one image again, on an engine that checks everything."""

    def __init__(self, image: Image, options: Options) -> None:
        self._target = ImageTarget(image, replace(options, tier="stepper", bounds=True), checks=True)

    def look(self, kernel: Kernel, case: Case, outcome: Outcome, noticed: Noticed) -> None:
        """Run an example again unless it is long, trapped, or enough were looked at."""
        if noticed.examples >= CASES or outcome.fault is not None or (outcome.instructions or 0) > LONGEST:
            return
        engine = self._target.engine
        engine.diagnostics.clear()
        with contextlib.suppress(TargetFault):  # only the permission map's own limits: the example ran before
            self._target.call(kernel, case)
        found = engine.diagnostics
        noticed.examples += 1
        noticed.add(_notice(finding) for finding in found.findings(engine.locate))
        noticed.add(
            Notice(f"contested fact {name} (docs/contested.md)", engine.locate(pc), count)
            for name, counts in found.contested.items()
            for pc, count in counts.items()
        )
        if found.lowest_stack is not None:
            noticed.stack = max(noticed.stack, engine.stack.end - found.lowest_stack)


def _notice(finding: Finding) -> Notice:
    return Notice(finding.kind, finding.where, finding.count, finding.first)
