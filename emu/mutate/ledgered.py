"""Mutation campaigns in the ledger: a result for each mutant that was judged, and the figures of all."""

from __future__ import annotations

from collections.abc import Iterable

from emu.image import load_image
from emu.ledger.writer import MEASURED, Figure, Result, Run, RunWriter
from emu.mutate.builder import Base
from emu.mutate.result import Result as MutantResult
from emu.mutate.score import score
from emu.verify.records import package_version

ALL = "mutants"
"""The name under which ``emu history trend`` shows the figures of whole campaigns."""


def mutate_run(base: Base, seed: int, examples: int) -> Run:
    """The run as the ledger keeps it; the image is that of the unchanged firmware."""
    image = load_image(base.elf)
    name, sha256 = str(base.elf), image.sha256
    return Run("mutate", "image", package_version(), name, sha256, seed=seed, examples=examples)


def judged(result: MutantResult) -> Result:
    """One mutant; its verdict is its status."""
    what = f"{result.mutant.where}: {result.mutant.what}"
    message = f"{result.kernel}: {what}" if result.kernel else what
    if result.reason:
        message += f" ({result.reason})"
    return Result(
        result.mutant.ident,
        str(result.status),
        cases=result.example + 1,
        seconds=result.seconds + result.build_seconds,
        message=message,
    )


def keep_score(writer: RunWriter, results: Iterable[MutantResult]) -> None:
    """Figures of the whole campaign, with what earlier runs judged."""
    found = score(results)
    values = {
        "killed, share of the faults": found.killed / found.faults if found.faults else 1.0,
        "killed": found.killed,
        "survived": found.survived,
        "equivalent": found.equivalent,
        "tool errors": found.errors,
    }
    figures = {name: Figure.once(value) for name, value in values.items()}
    writer.add(Result(ALL, MEASURED, found.faults + found.equivalent), figures=figures)
