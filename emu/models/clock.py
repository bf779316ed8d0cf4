"""Time by stage: from one stage that is told to the next."""

from __future__ import annotations

import time
from collections import Counter

from emu.models.names import family
from emu.numerics.types import AnyArray


class StageClock:
    """A tap that notes when stages are complete.

    ``seconds``: by family of stages (see :func:`emu.models.names.family`). What is computed for both guidance
    branches at once counts for the one that is told first.
    """

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self._last = time.perf_counter()

    def start(self) -> None:
        """The run begins."""
        self._last = time.perf_counter()

    def __call__(self, name: str, values: AnyArray | None = None) -> None:
        """A stage is complete."""
        now = time.perf_counter()
        self.seconds[family(name)] += now - self._last  # type: ignore[assignment]
        self._last = now
