"""What bisecting found, as far as it came: every part may be missing, and says why in ``notes``."""

from __future__ import annotations

from dataclasses import dataclass, field

from emu.bisect.glue import WrongCall
from emu.bisect.instruction import FirstWrong
from emu.bisect.smallest import Smallest
from emu.image import Location
from emu.verify.check import Outcome
from emu.verify.compare import Difference


@dataclass
class StageFinding:
    """``stage``: the first wrong one of ``wrong``; ``own``: stages that are wrong on golden inputs;
    ``inherited``: those that are wrong only because of their inputs, None when that was not looked at.
    """

    run: str
    stage: str
    wrong: tuple[str, ...]
    compared: int
    difference: Difference | None = None
    own: tuple[str, ...] | None = None
    end: str = ""
    """How the run ended where it did not end as the golden one did."""

    @property
    def is_wrong_itself(self) -> bool | None:
        """Whether the first wrong stage is wrong on golden inputs; None when unknown."""
        return None if self.own is None else self.stage in self.own


@dataclass
class KernelFinding:
    """A kernel that differs from its mirror on inputs that were recorded inside the stage, or by itself.

    ``calls``: how many recorded calls were replayed before it; ``seen``: what it did on the recorded input.
    """

    symbol: str
    calls: int
    seen: Outcome
    dims: dict[str, int]
    smallest: Smallest
    file: str = ""
    causes: list[str] = field(default_factory=list)


@dataclass
class Finding:
    """The whole answer. ``equal``: nothing differs (then the rest is empty).

    ``kernel``: a kernel that computes wrong numbers; ``wrong_call``: one that gets wrong ones, ``function``:
    who gives them to it. ``instruction``: the first wrong one, ``against``: what it was compared with;
    ``places``: source lines to look at, the likeliest first.
    """

    equal: bool = False
    compared: int = 0
    stage: StageFinding | None = None
    kernel: KernelFinding | None = None
    wrong_call: WrongCall | None = None
    function: str = ""
    instruction: FirstWrong | None = None
    places: list[Location] = field(default_factory=list)
    against: str = ""
    notes: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def culprit(self) -> str:
        """The kernel that computes wrong numbers, or the function between kernels that is wrong."""
        return self.kernel.symbol if self.kernel is not None else self.function
