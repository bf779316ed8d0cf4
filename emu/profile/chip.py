"""From instructions to an estimate of the time of a chip, every assumption stated.

Instruction counts are exact; their cycles are those of a simple pipeline (emu.profile.pipeline). What the
firmware shares out to two cores is shared out here, and the time in which weights come from flash is added.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from emu.profile.measure import Profile
from emu.profile.pipeline import ASSUMED
from emu.profile.tracer import Node

CLOCK: Final = 240e6
CORES: Final = 2
FLASH_BYTES_PER_SECOND: Final = 40e6
"""Quad flash at 80 MHz: 4 bits a cycle."""
LINE: Final = 32
LINE_COMMAND_CYCLES: Final = 60
"""CPU cycles for command and address of a line that is fetched from flash."""
HANDOVER_CYCLES: Final = 300
"""Post a job to the other core, and find that it is done."""
SHARED: Final = "par_one_core"
"""What runs below this function is shared out to both cores on the chip."""

PUBLISHED: Final = {8: 5.4, 4: 2.9}
"""Seconds of a picture by steps, for the original firmware on an ESP32-S3 at 240 MHz on both cores."""
PUBLISHED_GMACS: Final = 1.5
"""GMAC/s of a 64 x 192 x 576 product there, both cores."""


@dataclass(frozen=True)
class Estimate:
    """Seconds by cause; ``cycles``: of one core doing everything, without flash."""

    cycles: float
    shared_cycles: float
    handovers: int
    alone: float
    together: float
    handing: float
    flash: float

    @property
    def one_core(self) -> float:
        """Seconds when one core does everything."""
        return self.cycles / CLOCK + self.flash

    @property
    def seconds(self) -> float:
        """Seconds on both cores."""
        return self.alone + self.together + self.handing + self.flash


def estimate(profile: Profile, without_taps: bool = True) -> Estimate:
    """What the chip would take for the profiled run; taps are left out, as on a chip that shows nothing."""
    whole = _cycles(profile, profile.root, False, without_taps)
    alone, shared, handovers = whole
    if profile.subject.steps == 0 and SHARED not in profile.functions:
        shared, alone, handovers = (alone, 0.0, 1) if profile.subject.macs else (0.0, alone, 0)
    line = LINE / FLASH_BYTES_PER_SECOND + LINE_COMMAND_CYCLES / CLOCK
    return Estimate(
        alone + shared,
        shared,
        handovers,
        alone / CLOCK,
        shared / CORES / CLOCK,
        handovers * HANDOVER_CYCLES / CLOCK,
        profile.subject.flash / LINE * line,
    )


def _cycles(profile: Profile, node: Node, is_shared: bool, without_taps: bool) -> tuple[float, float, int]:
    """(cycles of one core alone, of both, number of shared jobs) in a subtree of calls."""
    from emu.profile.tracer import ASIDE, TAPS

    if without_taps and ASIDE.get(node.name) == TAPS:
        return 0.0, 0.0, 0
    own = node.own * profile.mix.cycles(node.name)
    below = is_shared or node.name == SHARED
    alone, shared, jobs = (0.0, own, 0) if below else (own, 0.0, 0)
    if node.name == SHARED:
        jobs = node.calls
    for child in node.children.values():
        a, s, j = _cycles(profile, child, below, without_taps)
        alone, shared, jobs = alone + a, shared + s, jobs + j
    return alone, shared, jobs


def assumptions() -> list[str]:
    """Everything that the estimate assumes, a line each."""
    return [
        f"{CLOCK / 1e6:.0f} MHz, one cycle for each instruction, in order",
        *(f"{what}: {cycles} more" for what, cycles in ASSUMED.items()),
        f"what the firmware shares out takes half the time on two cores, and {HANDOVER_CYCLES} cycles a job",
        f"weights come from flash once for each pass, at {FLASH_BYTES_PER_SECOND / 1e6:.0f} MB/s in lines of "
        f"{LINE} bytes with {LINE_COMMAND_CYCLES} cycles before each; both cores wait for them",
        "code, activations and the decoder's PSRAM cost no waiting; taps are off",
    ]
