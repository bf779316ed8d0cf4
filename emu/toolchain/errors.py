"""The one error that a missing, broken or wrongly targeted toolchain raises."""

from __future__ import annotations


class ToolchainError(Exception):
    """A toolchain problem; `str()` says what is wrong and `mend` which command mends it (may be empty)."""

    def __init__(self, message: str, mend: str = "") -> None:
        super().__init__(message + (f"\nto mend: {mend}" if mend else ""))
        self.mend = mend
