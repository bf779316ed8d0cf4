"""One kernel on one image: the first case that differs, the smallest input, the first wrong instruction."""

from __future__ import annotations

import time
from collections.abc import Callable

from emu.bisect.findings import Finding, KernelFinding
from emu.bisect.functions import origin_of, places_of
from emu.bisect.kernel_instruction import in_kernel
from emu.bisect.replay import Replayer
from emu.bisect.smallest import Smallest
from emu.image import Image
from emu.kernels.spec import Kernel
from emu.verify.case import Case
from emu.verify.check import Outcome
from emu.verify.reduce import weight
from emu.verify.shrink import Shrinker
from emu.verify.strategies import cases

Explain = Callable[[Kernel, Case, Case], list[str]]


def bisect_kernel(
    kernel: Kernel,
    bad: Image,
    good: Image | None = None,
    case: Case | None = None,
    fused: str = "fused",
    examples: int = 200,
    seed: int = 0,
    explain: Explain | None = None,
    shrink_seconds: float = 6.0,
) -> Finding:
    """``case``: the one that fails; without it the examples of a campaign are tried in turn.

    Raises UsageProblem, ToolError.
    """
    started = time.monotonic()
    replayer = Replayer(bad, fused)
    drawn, outcome, number = _failing(kernel, replayer, case, examples, seed)
    found = Finding(equal=drawn is None)
    if drawn is None or outcome is None:
        return found
    made = Shrinker(kernel, drawn, outcome, lambda c: replayer.check(kernel, c), shrink_seconds)
    small = made.shrink()
    source = "the given case" if case is not None else f"example {number} of seed {seed}"
    smallest = Smallest(small, made.outcome, weight(kernel, small), source)
    found.kernel = KernelFinding(kernel.symbol, 0, outcome, dict(drawn.dims), smallest)
    found.seconds["smallest input"] = round(time.monotonic() - started, 3)
    started = time.monotonic()
    found.instruction, found.against = in_kernel(kernel, small, bad, good, fused)
    if found.instruction is not None:
        found.function = origin_of(good, bad, found.instruction.bad.where)
        found.places = places_of(bad, found.instruction)
    found.seconds["instruction"] = round(time.monotonic() - started, 3)
    if explain is not None:
        found.kernel.causes = explain(kernel, small, drawn)
    return found


def _failing(
    kernel: Kernel, replayer: Replayer, case: Case | None, examples: int, seed: int
) -> tuple[Case | None, Outcome | None, int]:
    """The case that differs, what it does, and its number."""
    if case is not None:
        outcome = replayer.check(kernel, case)
        return (case, outcome, 0) if outcome.bad else (None, None, 0)
    for number, drawn in cases(kernel, seed, 0, examples):
        outcome = replayer.check(kernel, drawn)
        if outcome.bad:
            return drawn, outcome, number
    return None, None, 0
