"""A hypothesis predicts what the image leaves; it is proved when every prediction is right, bit for bit."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from emu.diagnose.evidence import Evidence, Fact, same
from emu.diagnose.reasons import Proof, Reason
from emu.kernels.spec import Kernel
from emu.verify.case import Case
from emu.verify.errors import ToolError, UsageProblem
from emu.verify.target import CallResult, MirrorTarget

PASSING = 16
"""Cases without a difference that a hypothesis must leave without one."""

Predict = Callable[[Fact], CallResult | None]
"""What the image would leave if the hypothesis held; None where it says nothing about the case."""


@dataclass(frozen=True)
class Hypothesis:
    """``name``, ``text``: as of a reason."""

    name: str
    text: str
    predict: Predict

    def holds(self, kernel: Kernel, fact: Fact) -> bool:
        """Whether it predicts what the image did."""
        try:
            predicted = self.predict(fact)
        except (ToolError, UsageProblem, IndexError, ValueError):
            return False
        return predicted is not None and same(kernel, fact.case, predicted, fact.actual)


def proved(hypotheses: Iterable[Hypothesis], evidence: Evidence) -> list[Reason]:
    """Those that explain every difference and break nothing; where several do, each says so."""
    differing = evidence.differing
    passing = [fact for fact in evidence.facts if not fact.differs][:PASSING]
    if not differing:
        return []
    found = [
        h
        for h in hypotheses
        if h.holds(evidence.kernel, differing[0])
        and all(h.holds(evidence.kernel, fact) for fact in (*differing[1:], *passing))
    ]
    cases = f"{len(differing)} differing case{'s' if len(differing) > 1 else ''}"
    doubt = f"; {len(found)} reasons explain them equally well" if len(found) > 1 else ""
    text = f"explains all outputs of {cases} bit for bit, and none of {len(passing)} others speaks against it"
    return [Reason(h.name, h.text, Proof.PROVED, (text + doubt,)) for h in found]


_MIRROR = MirrorTarget()


def mirror_of(kernel: Kernel, case: Case, mirror: Callable[..., object] | None = None) -> CallResult:
    """What a mirror (the kernel's own, or another one) leaves. Raises ToolError."""
    return _MIRROR.call(kernel if mirror is None else replace(kernel, mirror=mirror), case)
