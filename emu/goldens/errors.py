"""Messages about goldens that cannot be used."""

from __future__ import annotations

from emu.verify.errors import UsageProblem


def damaged(where: str, what: str) -> UsageProblem:
    """A manifest that is no manifest any more."""
    return UsageProblem(f"{where}: damaged: {what}; record it again, or take it from version control")


def stale(where: str, reasons: list[str]) -> UsageProblem:
    """A golden of something else than what is here now: it is refused, never compared."""
    listed = "; ".join(reasons)
    return UsageProblem(
        f"{where}: stale, not compared: {listed}. Go back to what it was recorded from, or record it again "
        "and review the change"
    )
