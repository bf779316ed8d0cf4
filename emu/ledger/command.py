"""What ``emu history`` prints."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from itertools import groupby
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from emu.ledger import queries
from emu.ledger.database import LedgerError, connect, ledger_path
from emu.ledger.export import export
from emu.terminal import STANDARD_OUTPUT
from emu.verify.errors import UsageProblem
from emu.verify.words import number, plural

_FILE_WIDTH = 200


def _open(path: Path | None) -> sqlite3.Connection:
    path = path or ledger_path()
    if path is None:
        raise UsageProblem("the ledger is off (EMU_LEDGER=off); name one with --ledger")
    try:
        return connect(path, create=False)
    except LedgerError as error:
        raise UsageProblem(str(error)) from error


def _table(columns: Sequence[str], rows: Iterable[Sequence[Any]], right: Sequence[str] = ()) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, justify="right" if column in right else "left", no_wrap=column != "message")
    for row in rows:
        table.add_row(*("-" if cell in (None, "") else str(cell) for cell in row))
    console = Console()
    if not console.is_terminal:
        console = Console(width=_FILE_WIDTH)  # nothing wraps in a file or a pipe, so nothing has to be cut
    console.print(table, markup=False)


def _state(row: dict[str, Any]) -> str:
    text = str(row["state"])
    if row["exit_code"] is not None:
        text += f", exit {row['exit_code']}"
    return f"{text}: {row['message'].splitlines()[0]}" if row["message"] else text


def _commit(row: dict[str, Any]) -> str:
    return f"{(row['commit_id'] or '-')[:8]}{'+' if row['dirty'] else ''}"


def show_runs(path: Path | None, last: int) -> int:
    """The last runs."""
    with closing(_open(path)) as connection:
        rows = queries.runs(connection, last)
    columns = (
        "run",
        "started",
        "kind",
        "target",
        "commit",
        "image",
        "results",
        "not equal",
        "cases",
        "state",
    )
    _table(
        columns,
        (
            (
                r["id"][:8],
                r["started"][:16],
                r["kind"],
                r["board"] or r["target"],
                _commit(r),
                (r["image_sha256"] or "")[:8],
                r["results"],
                r["wrong"],
                f"{r['cases']:,}",
                _state(r),
            )
            for r in rows
        ),
        ("results", "not equal", "cases"),
    )
    return 0


def show_run(path: Path | None, run: str) -> int:
    """Results of one run, and what it measured."""
    with closing(_open(path)) as connection:
        rows = queries.results_of(connection, run)
        figures = queries.figures_of(connection, rows[0]["run"]) if rows else {}
    if not rows:
        raise UsageProblem(f"no results of a run {run!r}; 'emu history' lists the runs")
    _print_results(rows, "name")
    told = [
        (name, figure, *(number(value) for value in values.values()))
        for name, measured in figures.items()
        for figure, values in measured.items()
    ]
    if told:
        _table(("name", "figure", "median", "low", "high"), told, ("median", "low", "high"))
    return 0


def show_name(path: Path | None, name: str) -> int:
    """Every result of one kernel, model or golden."""
    with closing(_open(path)) as connection:
        rows = queries.trend(connection, name)
        if not rows:
            known = ", ".join(queries.names(connection)[:8])
            raise UsageProblem(f"nothing called {name!r} was ever run; known are {known}, ...")
        bad = queries.first_bad(connection, name)
        costs = queries.costs(connection, name)
        figures = queries.figures(connection, name)
    _print_results(rows, "started")
    for one in bad:
        before = "never seen equal before" if one.good is None else f"last equal: {_place(one.good)}"
        print(f"first bad on {one.target}: {_place(one.bad)} ({one.bad['verdict']}); {before}")
    if costs:
        told = [(c["stage"], f"{c['instructions']:,}", f"{c['seconds']:.3f}") for c in costs]
        _table(("stage", "instructions", "seconds"), told, ("instructions", "seconds"))
    _print_figures(figures)
    return 0


def _print_figures(figures: list[dict[str, Any]]) -> None:
    """A table for each figure, so that a trend is read from top to bottom."""
    for figure, rows in groupby(figures, lambda row: str(row["figure"])):
        print(f"\n{figure}")
        told = [
            (r["started"][:19], _commit(r), r["host"], *(number(r[v]) for v in ("median", "low", "high")))
            for r in rows
        ]
        _table(("started", "commit", "host", "median", "low", "high"), told, ("median", "low", "high"))


def _place(row: dict[str, Any]) -> str:
    return f"commit {_commit(row)}, image {(row['image_sha256'] or '-')[:10]}, {row['started'][:19]}"


def _print_results(rows: list[dict[str, Any]], first: str) -> None:
    columns = [first, "target"] if first == "started" else [first]
    columns += ["verdict", "cases", "stages", "differ", "instructions", "seconds", "retries", "message"]
    _table(
        columns,
        ([_shown(column, r[column]) for column in columns] for r in rows),
        ("cases", "stages", "differ", "instructions", "seconds", "retries"),
    )


def _shown(column: str, value: Any) -> Any:
    if column == "started":
        return str(value)[:19]
    if column == "seconds":
        return f"{value:.1f}"
    return f"{value:,}" if isinstance(value, int) else value


def show_boards(path: Path | None) -> int:
    """Every board: what its line carried, what had to be done again."""
    with closing(_open(path)) as connection:
        found = queries.boards(connection)
    if not found:
        print("no run was on a board yet: emu verify --port URL")
        return 0
    numbers = ("runs", "requests", "mended", "link_faults", "board_faults", "flaky")
    told = [
        (r["board"] or "(never answered)", r["ports"], *(f"{r[n]:,}" for n in numbers), r["last"][:16])
        for r in found
    ]
    columns = ["board", "port", *(n.replace("_", " ") for n in numbers), "last run"]
    _table(columns, told, columns[2:-1])
    return 0


def show_flaky(path: Path | None) -> int:
    """Names whose verdict changes although nothing else does."""
    with closing(_open(path)) as connection:
        found = queries.flaky(connection)
    if not found:
        print("nothing is flaky: same image, options and board gave the same verdict every time")
        return 0
    told = [(f.name, f.board, ", ".join(f"{n} {v}" for v, n in f.verdicts.items())) for f in found]
    _table(("name", "board", "verdicts"), told)
    return 1


def show_slower(path: Path | None, percent: float) -> int:
    """Names that need more instructions a case than on the image before."""
    with closing(_open(path)) as connection:
        found = queries.slower(connection, 1 + percent / 100)
    if not found:
        print(f"no kernel, model or stage needs {percent:g} % more instructions than on the image before")
        return 0
    rows = [
        (
            s.name,
            s.stage,
            f"{s.before:,.0f}",
            f"{s.after:,.0f}",
            f"{s.ratio:.3f}",
            s.image_before[:10],
            s.image_after[:10],
        )
        for s in found
    ]
    columns = ("name", "stage", "before", "after", "ratio", "image before", "image")
    _table(columns, rows, ("before", "after", "ratio"))
    return 1


def write_export(path: Path | None, output: Path, last: int, kind: str | None = None) -> int:
    """Export the last runs; ``kind``: json, csv or junit, when the file's name does not say it."""
    with closing(_open(path)) as connection:
        count = export(connection, output, last, kind)
    if str(output) != STANDARD_OUTPUT:
        print(f"{output}: {plural(count, 'run')}")
    return 0
