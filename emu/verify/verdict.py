"""Verdicts and the exit code that a run of several kernels ends with (design: words)."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum


class Verdict(StrEnum):
    """Outcome of one kernel."""

    EQUAL = "equal"
    MISMATCH = "mismatch"
    LINK_FAULT = "link fault"
    BOARD_FAULT = "board fault"
    TOOL_ERROR = "tool error"
    NOT_RUN = "not run"


EXIT_USAGE = 2
EXIT_INTERRUPTED = 130
_EXIT = {
    Verdict.EQUAL: 0,
    Verdict.MISMATCH: 1,
    Verdict.LINK_FAULT: 3,
    Verdict.BOARD_FAULT: 4,
    Verdict.TOOL_ERROR: 5,
    Verdict.NOT_RUN: EXIT_INTERRUPTED,
}
_PRECEDENCE = (
    Verdict.MISMATCH,
    Verdict.BOARD_FAULT,
    Verdict.LINK_FAULT,
    Verdict.TOOL_ERROR,
    Verdict.NOT_RUN,
)


def exit_code(verdicts: Iterable[Verdict], interrupted: bool = False) -> int:
    """Exit code of a run: a proven difference outranks faults, faults outrank trouble of our own; all of them
    outrank that it was ``interrupted``.
    """
    seen = set(verdicts)
    for verdict in _PRECEDENCE:
        if verdict in seen:
            return _EXIT[verdict]
    return EXIT_INTERRUPTED if interrupted else 0
