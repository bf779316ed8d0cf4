"""Interleaved rounds: every contestant once in each round, so that all of them see the same busy machine."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median

Work = Callable[[], float]
"""One measurement: does the work and gives a rate."""


@dataclass(frozen=True)
class Values:
    """What the rounds gave."""

    each: tuple[float, ...]

    @property
    def median(self) -> float:
        """The middle one."""
        return median(self.each)

    @property
    def low(self) -> float:
        """The smallest one."""
        return min(self.each)

    @property
    def high(self) -> float:
        """The largest one."""
        return max(self.each)

    @property
    def spread(self) -> float:
        """Distance of the farthest round from the median, as a share of the median."""
        middle = self.median
        return max(self.high - middle, middle - self.low) / middle if middle else 0.0

    def over(self, other: Values) -> Values:
        """Ratios round by round: what slows a whole round down does not show in them."""
        return Values(tuple(a / b for a, b in zip(self.each, other.each, strict=True)))


def interleaved(
    contestants: Mapping[str, Work], rounds: int, tell: Callable[[str], None] = lambda name: None
) -> dict[str, Values]:
    """Measure each contestant once a round; ``tell`` is called with its name before.

    The order turns round by round, so that nobody always follows the same neighbour.
    """
    names = list(contestants)
    found: dict[str, list[float]] = {name: [] for name in names}
    for number in range(rounds):
        turn = number % len(names) if names else 0
        for name in names[turn:] + names[:turn]:
            tell(name)
            found[name].append(contestants[name]())
    return {name: Values(tuple(values)) for name, values in found.items()}


def geometric_mean(values: Sequence[float]) -> float:
    """Of positive numbers, at least one."""
    product = 1.0
    for value in values:
        product *= value ** (1 / len(values))
    return product


def seconds_of(work: Callable[[], object], clock: Callable[[], float] | None = None) -> float:
    """How long it takes, by ``clock``, or by the clock on the wall."""
    clock = clock or time.perf_counter
    start = clock()
    work()
    return clock() - start


def enough_repeats(work: Callable[[int], object], seconds: float, most: int = 1 << 24) -> int:
    """A number of repeats, a power of two, for which ``work(repeats)`` takes at least about ``seconds``."""
    repeats = 1
    while repeats < most:
        taken = seconds_of(partial(work, repeats))
        if taken >= seconds:
            break
        repeats *= 2 if taken > seconds / 8 else 4
    return repeats
