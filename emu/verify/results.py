"""What a campaign knows about each kernel: pieces from workers, merged into one result."""

from __future__ import annotations

from dataclasses import dataclass, field

from emu.kernels.spec import Kernel
from emu.ledger.writer import Session
from emu.verify.case import Case
from emu.verify.check import Outcome
from emu.verify.noticed import Noticed
from emu.verify.verdict import Verdict


@dataclass
class Failure:
    """A failing case: as drawn and as shrunk, and what each of them does.

    ``weight`` counts its non-neutral input elements. ``explanation``: lines on a cause that was tried and
    confirmed.
    """

    number: int
    seed: int
    drawn: Case
    drawn_outcome: Outcome
    case: Case
    outcome: Outcome
    weight: int
    shrink_calls: int
    explanation: list[str] = field(default_factory=list)
    known: str = ""
    """Where the case came from when it was not drawn: "an earlier run", a file name."""
    file: str = ""


@dataclass
class Piece:
    """Result of one task: ``examples`` cases of one kernel from number ``first`` on."""

    symbol: str
    first: int
    examples: int = 0
    bad: int = 0
    failure: Failure | None = None
    error: str = ""
    instructions: int = 0
    seconds: float = 0.0
    leaking: int = 0
    """Examples after which memory stayed allocated; ``leak``: a block of the first."""
    leak: str = ""
    noticed: Noticed = field(default_factory=Noticed)
    is_link_fault: bool = False
    """``error`` is about the line to a board."""
    note: str = ""
    """What the target says of its line so far; ``session``: the same for the ledger."""
    session: Session | None = None
    retries: int = 0
    """So often something was done again on the line."""


@dataclass
class KernelResult:
    """All pieces of one kernel."""

    kernel: Kernel
    wanted: int
    examples: int = 0
    bad: int = 0
    failure: Failure | None = None
    error: str = ""
    instructions: int = 0
    seconds: float = 0.0
    pieces: int = 0
    leaking: int = 0
    leak: str = ""
    noticed: Noticed = field(default_factory=Noticed)
    is_link_fault: bool = False
    retries: int = 0

    @property
    def verdict(self) -> Verdict:
        """A difference or fault that was seen stands, whatever happened to other pieces."""
        if self.failure is not None:
            return self.failure.outcome.verdict
        if self.error:
            return Verdict.LINK_FAULT if self.is_link_fault else Verdict.TOOL_ERROR
        return Verdict.EQUAL if self.examples >= self.wanted else Verdict.NOT_RUN

    def add(self, piece: Piece) -> None:
        """Merge a piece; of several failures the one with the lowest number is kept."""
        self.pieces += 1
        self.examples += piece.examples
        self.bad += piece.bad
        self.instructions += piece.instructions
        self.seconds += piece.seconds
        self.retries += piece.retries
        if piece.error and not self.error:
            self.error, self.is_link_fault = piece.error, piece.is_link_fault
        self.leaking += piece.leaking
        self.leak = self.leak or piece.leak
        self.noticed.merge(piece.noticed)
        if piece.failure is not None and (self.failure is None or piece.failure.number < self.failure.number):
            self.failure = piece.failure
