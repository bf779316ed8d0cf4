"""Benches in the ledger: a run for each suite, a result for each row of its tables and each bound."""

from __future__ import annotations

from dataclasses import replace

from emu.bench.measure import Values
from emu.bench.report import Cell, Report, Table
from emu.bench.settings import Settings
from emu.image import load_image
from emu.ledger.writer import MEASURED, Figure, Result, Run, RunWriter
from emu.verify.records import package_version
from emu.verify.reference import reference_elf

_ON_AN_IMAGE = ("kernels", "verify", "models")


def bench_run(suite: str, settings: Settings) -> Run:
    """The run as the ledger keeps it; a suite on an image has its hash. Raises ImageError."""
    run = Run(f"bench {suite}", "host", package_version())
    if suite not in _ON_AN_IMAGE:
        return run
    elf = settings.elf or reference_elf()
    return replace(run, image=str(elf), image_sha256=load_image(elf).sha256)


def keep(writer: RunWriter, report: Report) -> None:
    """Write down what a suite measured. A row is called as in its table, a figure as its column."""
    figures: dict[str, dict[str, Figure]] = {}
    rounds = 0
    for table in report.tables:
        for row, column, values in _cells(table):
            figures.setdefault(row, {})[f"{table.title}: {column}"] = _figure(values)
            rounds = max(rounds, len(values.each))
    for row, measured in figures.items():
        writer.add(Result(f"bench {report.suite}: {row}", MEASURED, rounds), figures=measured)
    for bound in report.bounds:
        value = {f"value{bound.unit}": Figure.once(bound.value)}
        name = f"bench {report.suite}: {bound.subject}"
        writer.add(Result(name, MEASURED, rounds, message=bound.text()), figures=value)


def _cells(table: Table) -> list[tuple[str, str, Values]]:
    """(row, column, values) of what was measured."""
    return [
        (row, column, cell.values)
        for row, cells in table.rows
        for column, cell in zip(table.columns, cells, strict=True)
        if isinstance(cell, Cell)
    ]


def _figure(values: Values) -> Figure:
    return Figure(values.median, values.low, values.high)
