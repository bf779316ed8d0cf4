"""In which order two cores take turns, and how many instructions each turn has."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

SHORT = 8
"""Every other random turn is at most this long: faults of locking need a switch at one certain place."""


@dataclass(frozen=True)
class Schedule:
    """``seed`` None: cores alternate, ``longest`` instructions each. Else core and length are drawn at random
    (1..``longest`` instructions), the same for the same seed on either tier.
    """

    seed: int | None = None
    longest: int = 100

    def __post_init__(self) -> None:
        if self.longest < 1:
            raise ValueError(f"a turn of {self.longest} instructions; it needs at least 1")

    def turns(self, cores: int) -> Iterator[tuple[int, int]]:
        """(core, instructions) of each turn, without end."""
        if self.seed is None:
            while True:
                for core in range(cores):
                    yield core, self.longest
        rng = random.Random(self.seed)
        while True:
            longest = self.longest if rng.random() < 0.5 else min(SHORT, self.longest)
            yield rng.randrange(cores), rng.randint(1, longest)
