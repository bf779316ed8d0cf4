"""A reason with the strength of its proof."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Proof(StrEnum):
    """``PROVED``: everything that differs is explained bit for bit, or vanishes when the reason is removed.
    ``SEEN``: it takes place in the run and can be the reason. ``CONSISTENT``: nothing speaks against it.
    """

    PROVED = "proved"
    SEEN = "seen"
    CONSISTENT = "consistent with"


@dataclass(frozen=True)
class Reason:
    """``name``: one of the list in docs/diagnosis.md; ``text``: a sentence; ``lines``: places and values."""

    name: str
    text: str
    proof: Proof
    lines: tuple[str, ...] = ()

    def told(self) -> list[str]:
        """As lines of a report."""
        strength = "" if self.proof is Proof.PROVED else f"{self.proof}: "
        return [f"{strength}{self.name}: {self.text}", *(f"  {line}" for line in self.lines)]

    def as_json(self) -> dict[str, Any]:
        """For a report file."""
        return {
            "name": self.name,
            "proof": self.proof.value,
            "text": self.text,
            "lines": list(self.lines),
        }
