"""What a measurement is asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
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
