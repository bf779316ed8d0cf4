"""A campaign in the ledger: finished results are safe at once, and ``--resume`` takes them over."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from emu.ledger.database import LedgerError
from emu.ledger.writer import Result, Run, RunWriter, finished_equal
from emu.verify.campaign import Campaign, Listener
from emu.verify.describe import headline
from emu.verify.errors import UsageProblem
from emu.verify.options import Options
from emu.verify.records import package_version
from emu.verify.results import KernelResult


def fingerprint(sources: str, options: Options, spec: Path | None, what: str) -> str:
    """SHA-256 over all that decides a result: ``sources`` (source_fingerprint), spec, options that matter."""
    digest = hashlib.sha256(sources.encode())
    digest.update(spec.read_bytes() if spec is not None and spec.is_file() else b"")
    choices = (what, options.seed, options.examples, options.budget, options.bounds, options.check)
    digest.update(repr(choices).encode())
    return digest.hexdigest()


def taken_over(fingerprint: str, resume: bool) -> dict[str, Result]:
    """What ``--resume`` need not compute again, by name; nothing without it. Raises UsageProblem."""
    try:
        return finished_equal(fingerprint) if resume else {}
    except LedgerError as error:
        raise UsageProblem(f"--resume: {error}") from error


def resumed_text(known: int, wanted: str) -> str:
    """What ``--resume`` found, of the ``wanted`` ("80 kernels")."""
    if known:
        return f"resumed: {known} of {wanted} were finished by the run before"
    return "nothing to resume: no unfinished run of the same image, sources and options"


class LedgerListener:
    """Listens to a campaign, writes what is finished, and passes everything on to ``listen``.

    Used as a context manager, as :class:`emu.ledger.writer.RunWriter` is.
    """

    def __init__(self, run: Run, listen: Listener, known: Mapping[str, Result]) -> None:
        """``known``: results that a resumed run takes over from the run before."""
        self._listen = listen
        self._writer = RunWriter(run)
        self._told: set[str] = set(known)
        for result in known.values():
            self._writer.add(result)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        self._writer.__exit__(*error)

    def __call__(self, campaign: Campaign, symbol: str, running: int) -> None:
        """After every event of the campaign. What is told as finished is in the ledger before it is told."""
        if symbol and symbol not in self._told and _finished(campaign.results[symbol]):
            self._told.add(symbol)
            self._writer.add(_result(campaign.results[symbol]))
            self._tell(campaign)
        self._listen(campaign, symbol, running)

    def _tell(self, campaign: Campaign) -> None:
        if campaign.session is not None:
            self._writer.tell(campaign.session)

    def end(self, campaign: Campaign, exit_code: int) -> None:
        """The campaign is over; a failure that was improved since is written again."""
        for symbol, result in campaign.results.items():
            if result.failure is not None or (result.examples and symbol not in self._told):
                self._writer.add(_result(result))
        self._tell(campaign)
        self._writer.end(exit_code, campaign.interrupted)
        campaign.notes += self._writer.notes


def _finished(result: KernelResult) -> bool:
    return result.failure is not None or bool(result.error) or result.examples >= result.wanted


def _result(result: KernelResult) -> Result:
    message = headline(result.kernel, result.failure) if result.failure else result.error
    return Result(
        result.kernel.symbol,
        str(result.verdict),
        result.examples,
        result.bad,
        result.instructions,
        result.seconds,
        result.retries,
        message,
    )


def describe_run(kind: str, options: Options, sha256: str, mark: str | None) -> Run:
    """The run as the ledger keeps it."""
    return Run(
        kind=kind,
        target=options.target,
        program=package_version(),
        image=str(options.elf) if options.elf else None,
        image_sha256=sha256 or None,
        seed=options.seed,
        examples=options.examples,
        fingerprint=mark,
    )


def take_over(campaign: Campaign, known: Mapping[str, Result]) -> None:
    """Put the results of the run before into a campaign that has not started."""
    for symbol, result in known.items():
        kept = campaign.results[symbol]
        kept.examples, kept.instructions, kept.seconds = result.cases, result.instructions, result.seconds
