"""What the unchanged firmware does in the default campaign: it must be equal, and how long its calls are."""

from __future__ import annotations

import time
from dataclasses import dataclass

from emu.kernels.spec import Kernel
from emu.mutate.builder import Base
from emu.verify.case import Plan, materialise
from emu.verify.options import Options
from emu.verify.strategies import CHUNK, chunk_plans
from emu.verify.targets import make_runner

BUDGET = 50_000_000
_SLACK = 8
_LEAST = 200_000


@dataclass(frozen=True)
class Baseline:
    """``instructions``: of the longest call; ``seconds``: of all ``examples`` of the kernel."""

    kernel: str
    instructions: int
    seconds: float
    bad: int


def measure(base: Base, kernel: Kernel, examples: int) -> Baseline:
    """Run the default examples of one kernel on the unchanged image."""
    runner = make_runner(Options(elf=base.elf, budget=BUDGET))
    longest, bad, started = 0, 0, time.monotonic()
    for plan in plans(kernel, examples):
        outcome = runner.check(kernel, materialise(kernel, plan))
        longest = max(longest, outcome.instructions or 0)
        bad += outcome.bad
    return Baseline(kernel.symbol, longest, time.monotonic() - started, bad)


def budget(baselines: list[Baseline]) -> int:
    """Guest instructions after which a call of any of these kernels hangs."""
    return max([_LEAST, *(_SLACK * b.instructions for b in baselines)])


def plans(kernel: Kernel, examples: int) -> list[Plan]:
    """The plans of the default campaign's examples of a kernel (seed 0)."""
    found: list[Plan] = []
    while len(found) < examples:
        found += chunk_plans(kernel, 0, len(found) // CHUNK)
    return found[:examples]
