"""The one error that a missing, broken or wrongly targeted toolchain raises."""

from __future__ import annotations


class ToolchainError(Exception):
    """A toolchain problem: `problem` says what is wrong, `mend` which command mends it (may be empty)."""

    def __init__(self, problem: str, mend: str = "") -> None:
        super().__init__(problem + (f"\nto mend: {mend}" if mend else ""))
        self.problem = problem
        self.mend = mend
