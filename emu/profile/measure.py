"""One profile: counts by function and stage, samples of instructions, and what a chip would take."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Final

from emu.models.names import family
from emu.profile.pipeline import Mix, mix_of
from emu.profile.samples import Sampler
from emu.profile.sites import Code
from emu.profile.subjects import Subject
from emu.profile.tracer import END, LOADING, TAPS, Node, Tracer

SAMPLES: Final = 600
"""Each costs milliseconds; the share of a class is then known to about two hundredths."""


@dataclass(frozen=True)
class Profile:
    """What a run consists of, in instructions. ``stages`` and ``functions`` both add up to ``instructions``.

    ``stages``: in the order of the model; ``functions``: name to (own instructions, calls); ``parts``:
    instructions by (stage, function); ``root``: the tree of calls.
    """

    subject: Subject
    instructions: int
    stages: dict[str, int]
    functions: dict[str, tuple[int, int]]
    parts: Counter[tuple[str, str]]
    root: Node
    mix: Mix

    @property
    def taps(self) -> int:
        """Instructions of the taps, which a run without taps does not execute."""
        return self.stages.get(TAPS, 0)

    def families(self) -> dict[str, int]:
        """Stages that differ by step, branch, block, layer or position only, taken together."""
        found: Counter[str] = Counter()
        for stage, count in self.stages.items():
            found[family(stage)] += count
        return dict(found)


def measure(subject: Subject, samples: int = SAMPLES) -> Profile:
    """Run it twice: once hooked at every function, once with about so many ``samples``.

    Raises Trap and what the subject raises. RuntimeError when the two runs differ: then something in the
    subject depends on the time or on chance.
    """
    code = Code(subject.engine.image)
    with Tracer(subject.engine, code) as tracer:
        executed = subject.run()
    with Sampler(subject.engine, code, max(executed // samples, 2)) as sampler:
        sampled = subject.run()
    if sampled != executed:
        raise RuntimeError(f"{subject.title}: {executed:,} instructions, then {sampled:,}")
    return Profile(
        subject,
        executed,
        _in_order(tracer.stages, subject.order),
        tracer.functions(),
        tracer.parts,
        tracer.root,
        mix_of(sampler, code),
    )


def _in_order(stages: Counter[str], order: list[str]) -> dict[str, int]:
    names = [LOADING, *order, END, TAPS]
    known = {name: stages[name] for name in names if stages[name] or name in order}
    return known | {name: count for name, count in stages.items() if name not in known and count}
