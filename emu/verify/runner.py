"""Runs a stretch of cases of one kernel in this process, and shrinks the first one that fails."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from emu.kernels.spec import Kernel
from emu.ledger.writer import Session
from emu.verify.case import Case
from emu.verify.check import Outcome, check
from emu.verify.errors import LinkTrouble, ToolError, UsageProblem
from emu.verify.noticed import Inspector
from emu.verify.options import Options
from emu.verify.reduce import weight
from emu.verify.results import Failure, Piece
from emu.verify.shrink import Shrinker
from emu.verify.target import Target

Progress = Callable[[int], None]
_COUNT_SECONDS = 3.0
"""After the first failure the rest of a stretch is still counted, but no longer than this."""

Explain = Callable[[Kernel, Case, Case], list[str]]


class Runner:
    """Holds the two targets of a worker. ``explain`` adds lines to a failure: known causes that it tried.

    ``inspector``: looks at some examples a second time (``--check``).
    """

    def __init__(
        self,
        reference: Target,
        target: Target,
        options: Options,
        explain: Explain | None = None,
        inspector: Inspector | None = None,
    ) -> None:
        self._inspector = inspector
        self.reference = reference
        self.target = target
        self.options = options
        self._explain = explain

    def check(self, kernel: Kernel, case: Case) -> Outcome:
        """One case on both targets."""
        return check(kernel, case, self.reference, self.target)

    def run(
        self,
        kernel: Kernel,
        first: int,
        cases: Iterable[tuple[int, Case]],
        progress: Progress = lambda done: None,
        known: str = "",
    ) -> Piece:
        """Run ``cases``; ToolError and UsageProblem end the stretch and stand in the piece's ``error``.

        ``known``: where the cases come from when they were not drawn; such cases are small already.
        """
        piece = Piece(kernel.symbol, first)
        before = _mended(self.target)
        started = time.monotonic()
        try:
            self._run(kernel, cases, piece, progress, known)
        except (ToolError, UsageProblem) as error:
            piece.error = str(error)
            piece.is_link_fault = isinstance(error, LinkTrouble)
        piece.seconds = time.monotonic() - started
        piece.note = getattr(self.target, "summary", "")
        piece.session = getattr(self.target, "session", None)
        piece.retries = _mended(self.target) - before
        return piece

    def _run(
        self,
        kernel: Kernel,
        cases: Iterable[tuple[int, Case]],
        piece: Piece,
        progress: Progress,
        known: str,
    ) -> None:
        end = float("inf")
        for number, case in cases:
            if time.monotonic() > end:
                return
            outcome = self.check(kernel, case)
            piece.examples += 1
            piece.instructions += outcome.instructions or 0
            if outcome.leaks:
                piece.leaking += 1
                piece.leak = piece.leak or outcome.leaks[0]
            if self._inspector is not None:
                self._inspector.look(kernel, case, outcome, piece.noticed)
            if outcome.bad:
                piece.bad += 1
                if piece.failure is None:
                    piece.failure = self.failure(kernel, number, case, outcome, known)
                    end = time.monotonic() + _COUNT_SECONDS
            progress(piece.examples)

    def failure(self, kernel: Kernel, number: int, case: Case, outcome: Outcome, known: str = "") -> Failure:
        """Shrink a failing case (unless it is ``known``) and look for a cause."""
        limits = (0.0, 0) if known else (self.options.shrink_seconds, self.options.shrink_calls)
        shrinker = Shrinker(kernel, case, outcome, lambda c: self.check(kernel, c), *limits)
        small = shrinker.shrink()
        failure = Failure(
            number=number,
            seed=self.options.seed,
            drawn=case,
            drawn_outcome=outcome,
            case=small,
            outcome=shrinker.outcome,
            weight=weight(kernel, small),
            shrink_calls=shrinker.calls,
            known=known,
        )
        if self._explain is not None and failure.outcome.mismatch is not None:
            failure.explanation = self._explain(kernel, small, case)
        return failure


def _mended(target: Target) -> int:
    """So often the target had to do something again on its line; 0 for targets without one."""
    session: Session | None = getattr(target, "session", None)
    return 0 if session is None else session.mended
