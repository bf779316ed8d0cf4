"""All known reasons, tried on one failing case and on other examples of its kernel; the proved ones first."""

from __future__ import annotations

from collections.abc import Iterator

from emu.diagnose import arithmetic, inputs, outputs
from emu.diagnose.evidence import EXTRA, Evidence, gather
from emu.diagnose.hypothesis import Hypothesis, proved
from emu.diagnose.reasons import Proof, Reason
from emu.diagnose.reruns import Reruns
from emu.kernels.spec import Kernel
from emu.verify.case import Case
from emu.verify.errors import ToolError, UsageProblem
from emu.verify.target import Target

NONE = "none of the known reasons explains it (docs/diagnosis.md lists them)"


def diagnose(
    kernel: Kernel, small: Case, drawn: Case | None, reference: Target, target: Target, extra: int = EXTRA
) -> list[Reason]:
    """Reasons that were confirmed, proved ones first; empty when none was.

    ``reference``: the mirror; ``target``: the image. Both are run many times; ``extra`` more examples are
    drawn for them. Raises ToolError when the mirror fails.
    """
    evidence = gather(kernel, small, drawn, reference, target, extra)
    found = proved(_hypotheses(evidence), evidence)
    found += Reruns(evidence, reference, target).reasons()
    order = list(Proof)
    return sorted(found, key=lambda reason: order.index(reason.proof))


def _hypotheses(evidence: Evidence) -> Iterator[Hypothesis]:
    for family in (arithmetic, inputs, outputs):
        try:
            yield from family.hypotheses(evidence)
        except (ToolError, UsageProblem):
            continue
