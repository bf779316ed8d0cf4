"""Options of a run, in one picklable place: what the command line gives and a worker process needs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from emu.verify.watchdog import DEFAULT_SECONDS

TargetName = Literal["image", "mirror", "board"]


@dataclass(frozen=True)
class Options:
    """``elf``: image under test (None with the mirror as target); ``budget``: guest instructions per call.

    ``shrink_seconds`` and ``shrink_calls`` bound the search for a smaller failing case of one kernel.
    """

    target: TargetName = "image"
    elf: Path | None = None
    tier: str = "translator"
    fused: str = "fused"
    budget: int = 50_000_000
    seed: int = 0
    examples: int = 200
    jobs: int = 2
    out: Path | None = None
    bounds: bool | None = None
    check: bool = False
    """Some examples are run again with every diagnostic (emu.verify.noticed)."""
    shrink_seconds: float = 10.0
    shrink_calls: int = 6000
    mirror_seconds: float = DEFAULT_SECONDS
    """A call of a mirror that takes longer is a tool error (emu.verify.watchdog)."""
    port: str = ""
    """With the board as target: pyserial URL of its line."""
    baud: int | None = None
    readings: tuple[tuple[str, str], ...] = ()
    """Contested facts to readings other than the chosen ones (`emu selftest`)."""
