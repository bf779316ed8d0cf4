"""The smallest input with which a kernel still differs from its mirror."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

from emu.bisect.replay import Replayer
from emu.kernels.spec import Kernel
from emu.verify.case import Case
from emu.verify.check import Outcome
from emu.verify.errors import ToolError, UsageProblem
from emu.verify.reduce import weight
from emu.verify.shrink import Shrinker
from emu.verify.strategies import cases

GOOD_ENOUGH = 4
"""Non-neutral elements: a smaller input is not looked for."""


@dataclass(frozen=True)
class Smallest:
    """``source``: "the recorded call" or "example N of the usual campaign"."""

    case: Case
    outcome: Outcome
    weight: int
    source: str


class _NoSizes(Shrinker):
    """For calls whose sizes the spec would not derive: contents only."""

    def sizes(self) -> bool:
        return False


def smallest(
    kernel: Kernel,
    case: Case,
    outcome: Outcome,
    replayer: Replayer,
    is_exact: bool,
    seconds: float = 4.0,
    examples: int = 200,
) -> Smallest:
    """The recorded case made small; where it stays large, also a small drawn case that fails.

    ``seconds`` bounds each of the two searches.
    """
    made = (Shrinker if is_exact else _NoSizes)(
        kernel, case, outcome, lambda c: replayer.check(kernel, c), seconds
    )
    small = made.shrink()
    best = Smallest(small, made.outcome, weight(kernel, small), "the recorded call")
    if best.weight <= GOOD_ENOUGH:
        return best
    drawn = _drawn(kernel, replayer, examples, seconds)
    return drawn if drawn is not None and drawn.weight < best.weight else best


def _drawn(kernel: Kernel, replayer: Replayer, examples: int, seconds: float) -> Smallest | None:
    try:
        for number, case in islice(cases(kernel, 0, 0, examples), examples):
            outcome = replayer.check(kernel, case)
            if outcome.bad:
                made = Shrinker(kernel, case, outcome, lambda c: replayer.check(kernel, c), seconds)
                small = made.shrink()
                source = f"example {number} of the usual campaign"
                return Smallest(small, made.outcome, weight(kernel, small), source)
    except (ToolError, UsageProblem):
        return None
    return None
