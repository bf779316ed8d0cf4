"""One case on two targets: equal, a mismatch, or a fault of the code under test."""

from __future__ import annotations

from dataclasses import dataclass

from emu.kernels.spec import Kernel
from emu.verify.case import Case, statuses_of
from emu.verify.compare import Mismatch, compare
from emu.verify.errors import TargetFault, ToolError
from emu.verify.target import Target
from emu.verify.verdict import Verdict


@dataclass
class Outcome:
    """Result of one case. ``instructions`` is None where the target does not count."""

    mismatch: Mismatch | None = None
    fault: TargetFault | None = None
    instructions: int | None = None
    leaks: tuple[str, ...] = ()
    """Blocks of the heap that the function has left allocated."""
    log: tuple[str, ...] = ()
    """The last lines that the function has printed."""

    @property
    def verdict(self) -> Verdict:
        """The case's own verdict."""
        if self.fault is not None:
            return Verdict.BOARD_FAULT
        return Verdict.MISMATCH if self.mismatch is not None else Verdict.EQUAL

    @property
    def bad(self) -> bool:
        """True unless equal."""
        return self.mismatch is not None or self.fault is not None

    def same_kind(self, other: Outcome) -> bool:
        """Whether both fail in the same way, so that one may stand for the other while shrinking."""
        if self.fault is not None or other.fault is not None:
            return self.fault is not None and other.fault is not None and self.fault.kind == other.fault.kind
        return self.mismatch is not None and other.mismatch is not None


def check(kernel: Kernel, case: Case, reference: Target, target: Target) -> Outcome:
    """Run ``case`` on both and compare. ToolError passes through: it is nobody's verdict."""
    expected = reference.call(kernel, case)
    statuses = statuses_of(kernel, case.fault)
    if statuses and expected.returned not in statuses:
        raise ToolError(
            f"the mirror of {kernel.symbol} returned {expected.returned} for the refused call "
            f"{case.fault!r}; its spec says {' or '.join(map(str, sorted(statuses)))}"
        )
    try:
        actual = target.call(kernel, case)
    except TargetFault as fault:
        return Outcome(fault=fault)
    mismatch = compare(kernel, case, expected, actual)
    return Outcome(mismatch=mismatch, instructions=actual.instructions, leaks=actual.leaks, log=actual.log)
