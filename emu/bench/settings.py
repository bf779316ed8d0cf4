"""What a measurement is asked for."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path


def _say_nothing(what: str) -> None:
    """For callers without a progress display."""


@dataclass(frozen=True)
class Settings:
    """``elf``: image whose kernels are measured, None for the bundled one; ``rounds``: interleaved rounds;
    ``seconds``: about how long one measurement takes; ``examples``: of each kernel in the measured campaign;
    ``kernels``: names or patterns of those that are measured, none for all; ``tell``: called with what is
    measured next.
    """

    elf: Path | None = None
    rounds: int = 5
    seconds: float = 0.2
    examples: int = 200
    kernels: tuple[str, ...] = ()
    tell: Callable[[str], None] = _say_nothing

    def command(self, suite: str) -> str:
        """What has to be typed to measure the same."""
        words = ["emu", "bench", suite]
        for f in fields(self):
            value = getattr(self, f.name)
            if f.name not in ("tell", "kernels") and value != f.default:
                words += [f"--{f.name}", str(value)]
        return shlex.join([*words, *(word for name in self.kernels for word in ("--kernel", name))])
