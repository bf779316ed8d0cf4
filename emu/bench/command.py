"""What ``emu bench`` does: run the suites, print each, write the files that were asked for."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path

from rich.table import Table as RichTable

from emu.bench.ledgered import bench_run, keep
from emu.bench.page import machine, update
from emu.bench.report import Report, Table, as_json
from emu.bench.settings import Settings
from emu.ledger.writer import RunWriter
from emu.terminal import Terminal, progress
from emu.verify.records import write_whole


def run(
    suites: Sequence[str],
    settings: Settings,
    json_file: Path | None,
    page: Path | None,
    quiet: bool = False,
) -> int:
    """Measure, keep in the ledger, print; returns 0.

    A bound that is not met is said, and is no error: machines differ.
    """
    terminal = Terminal.of(quiet, json_file)
    reports = [_measured(suite, settings, terminal) for suite in suites]
    terminal.usual.print(f"on {machine()}", style="dim", markup=False)
    if json_file is not None:
        whole = {"machine": machine(), "rounds": settings.rounds, "suites": [as_json(r) for r in reports]}
        write_whole(json_file, json.dumps(whole, indent=1).encode())
    if page is not None:
        update(page, reports)
    return 0


def _measured(suite: str, settings: Settings, terminal: Terminal) -> Report:
    with RunWriter(bench_run(suite, settings)) as writer:
        with progress(terminal.usual) as step:
            report = _suite(suite)(replace(settings, tell=lambda what: step(f"measuring {what}", 0)))
        keep(writer, report)
        writer.end(0)
    report.notes += writer.notes
    show(terminal, report)
    return report


def _suite(name: str) -> Callable[[Settings], Report]:
    found: Callable[[Settings], Report] = import_module(f"emu.bench.suite_{name}").run
    return found


def show(terminal: Terminal, report: Report) -> None:
    """Print a report."""
    console = terminal.usual
    console.print(report.command, style="bold", markup=False)
    for table in report.tables:
        console.print(_rich(table))
    for bound in report.bounds:
        told = console if bound.is_met else terminal.wrong
        told.print(bound.text(), style="" if bound.is_met else "yellow", markup=False)
    for name, why in report.missing.items():
        console.print(f"not there: {name}: {why}", markup=False)
    for note in report.notes:
        console.print(note, markup=False)
    console.print()


def _rich(table: Table) -> RichTable:
    found = RichTable(title=table.title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    found.add_column("", no_wrap=True)
    for column in table.columns:
        found.add_column(column, justify="right", overflow="fold")
    for name, cells in table.rows:
        found.add_row(name, *(cell.text() for cell in cells))
    return found
