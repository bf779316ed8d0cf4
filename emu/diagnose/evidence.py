"""What a reason has to explain: cases with what the image did, those that differ and those that do not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

from emu.kernels.spec import Kernel
from emu.verify.case import Case
from emu.verify.compare import compare
from emu.verify.errors import TargetFault, ToolError, UsageProblem
from emu.verify.shapes import elements
from emu.verify.strategies import cases
from emu.verify.target import CallResult, Target

EXTRA = 40
"""Drawn examples that are looked at beside the failing one."""
LARGEST = 2500
"""Elements of an example at most: hypotheses are run in plain Python."""
_SEED = 0x5EED


@dataclass(frozen=True)
class Fact:
    """A case, what the mirror says and what the image did."""

    case: Case
    expected: CallResult
    actual: CallResult
    differs: bool


@dataclass
class Evidence:
    """``facts``: the shrunk case first, then the drawn one, then other examples."""

    kernel: Kernel
    facts: list[Fact] = field(default_factory=list)

    @property
    def differing(self) -> list[Fact]:
        """Those that a reason has to explain."""
        return [fact for fact in self.facts if fact.differs]


def same(kernel: Kernel, case: Case, predicted: CallResult, actual: CallResult) -> bool:
    """Bit for bit, outputs and return value; damage outside of the buffers is another matter."""
    found = compare(kernel, case, predicted, actual)
    return found is None or not (found.differences or found.returned)


def gather(
    kernel: Kernel, small: Case, drawn: Case | None, reference: Target, target: Target, extra: int = EXTRA
) -> Evidence:
    """Run the cases on both sides. Raises ToolError when the mirror fails on the case itself."""
    evidence = Evidence(kernel)
    wanted = [small] if drawn is None or drawn is small else [small, drawn]
    for case in wanted:
        fact = _fact(kernel, case, reference, target)
        if fact is not None:
            evidence.facts.append(fact)
    for case in _others(kernel, extra):
        try:
            fact = _fact(kernel, case, reference, target)
        except (ToolError, UsageProblem):
            continue
        if fact is not None:
            evidence.facts.append(fact)
    return evidence


def _fact(kernel: Kernel, case: Case, reference: Target, target: Target) -> Fact | None:
    """None where the image traps: another reason."""
    expected = reference.call(kernel, case)
    try:
        actual = target.call(kernel, case)
    except TargetFault:
        return None
    return Fact(case, expected, actual, not same(kernel, case, expected, actual))


def _others(kernel: Kernel, count: int) -> Iterator[Case]:
    for _, case in islice(cases(kernel, _SEED, 0, count), count):
        if not case.fault and elements(kernel, case.dims) <= LARGEST:
            yield case
