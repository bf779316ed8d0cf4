"""Figures of a campaign: killed, survived, equivalent, per kernel, generator and rule; time; places."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from statistics import median

from emu.mutate.result import Result, Status


@dataclass(frozen=True)
class Score:
    """Figures of a group of mutants. ``unbuilt`` includes what no kernel can execute."""

    killed: int
    survived: int
    equivalent: int
    unbuilt: int
    errors: int
    seconds: float
    examples: float
    kernels: int
    places: int
    weight: float

    @property
    def faults(self) -> int:
        """Mutants that are not equivalent."""
        return self.killed + self.survived


def score(results: Iterable[Result]) -> Score:
    """Count a group. Medians are over the killed ones."""
    every = list(results)
    count = {status: sum(r.status is status for r in every) for status in Status}
    killed = [r for r in every if r.status is Status.KILLED]

    def middle(value: Callable[[Result], float]) -> float:
        return median([value(r) for r in killed]) if killed else 0.0

    return Score(
        killed=len(killed),
        survived=count[Status.SURVIVED],
        equivalent=count[Status.EQUIVALENT],
        unbuilt=count[Status.UNBUILT] + count[Status.UNREACHED],
        errors=count[Status.ERROR],
        seconds=middle(lambda r: r.seconds),
        examples=middle(lambda r: r.example + 1),
        kernels=sum(r.right_kernel for r in killed),
        places=sum(r.right_place for r in killed),
        weight=middle(lambda r: r.weight),
    )


def grouped(results: Iterable[Result], key: Callable[[Result], str]) -> Mapping[str, Score]:
    """Scores by ``key``, sorted by it; groups in which nothing could be verified are left out."""
    groups: dict[str, list[Result]] = {}
    for result in results:
        groups.setdefault(key(result), []).append(result)
    return {name: score(groups[name]) for name in sorted(groups) if name}


def by_kernel(result: Result) -> str:
    """The kernel that showed a mutant, or the nearest one that can execute it."""
    return result.kernel or next(iter(result.kernels), "")


def by_generator(result: Result) -> str:
    """Where it was planted."""
    return result.mutant.generator


def by_rule(result: Result) -> str:
    """Generator and rule."""
    return f"{result.mutant.generator}: {result.mutant.rule}"


def share(part: int, whole: int) -> str:
    """``99.3 %``, rounded down; "-" of nothing."""
    return f"{int(1000 * part / whole) / 10:.1f} %" if whole else "-"
