"""What a suite found, as plain data: tables of medians and spreads, bounds, peers that were not there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from emu.bench.measure import Values
from emu.verify.words import number

Direction = Literal["at least", "at most"]


@dataclass(frozen=True)
class Cell:
    """A measured value: ``values`` of the rounds, in the unit of its column."""

    values: Values

    def text(self) -> str:
        """Median, and how far from it the farthest round is."""
        return f"{number(self.values.median)} ±{round(100 * self.values.spread)}%"


@dataclass(frozen=True)
class Absent:
    """Nothing was measured here; the reason is in the suite's notes or in the table."""

    why: str

    def text(self) -> str:
        """A dash, and why."""
        return f"- {self.why}"


@dataclass
class Table:
    """``columns``: headings with units; ``rows``: a name and a cell for each column."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, tuple[Cell | Absent, ...]]] = field(default_factory=list)

    def add(self, name: str, *cells: Cell | Absent) -> None:
        """Append a row. Raises ValueError when it does not fit the columns."""
        if len(cells) != len(self.columns):
            raise ValueError(f"{name}: {len(cells)} cells for {len(self.columns)} columns")
        self.rows.append((name, cells))


@dataclass(frozen=True)
class Bound:
    """What a figure has to reach."""

    subject: str
    value: float
    direction: Direction
    limit: float
    unit: str = ""

    @property
    def is_met(self) -> bool:
        """Whether it does."""
        return self.value >= self.limit if self.direction == "at least" else self.value <= self.limit

    def text(self) -> str:
        """A sentence."""
        verdict = "met" if self.is_met else "NOT MET"
        wanted = f"{self.direction} {number(self.limit)}{self.unit}"
        return f"{self.subject}: {number(self.value)}{self.unit}, {wanted}: {verdict}"


@dataclass
class Report:
    """One suite. ``missing``: peers that could not take part, each with the reason and what mends it."""

    suite: str
    command: str
    about: str
    tables: list[Table] = field(default_factory=list)
    bounds: list[Bound] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def as_json(report: Report) -> dict[str, Any]:
    """The report as data for a JSON file."""
    return {
        "suite": report.suite,
        "command": report.command,
        "tables": [_table_json(table) for table in report.tables],
        "bounds": [
            {
                "subject": b.subject,
                "value": b.value,
                "direction": b.direction,
                "limit": b.limit,
                "met": b.is_met,
            }
            for b in report.bounds
        ],
        "missing": report.missing,
        "notes": report.notes,
    }


def _table_json(table: Table) -> dict[str, Any]:
    rows = {name: dict(zip(table.columns, map(_cell_json, cells), strict=True)) for name, cells in table.rows}
    return {"title": table.title, "rows": rows}


def _cell_json(cell: Cell | Absent) -> dict[str, Any]:
    if isinstance(cell, Absent):
        return {"absent": cell.why}
    return {"median": cell.values.median, "each": list(cell.values.each)}


def markdown(report: Report) -> str:
    """The report as a section of a page."""
    return "\n".join([*_markdown_lines(report), ""])


def _markdown_lines(report: Report) -> Iterator[str]:
    yield f"## `{report.command}`"
    yield ""
    yield report.about
    for table in report.tables:
        yield from ("", f"**{table.title}**", "")
        yield f"| | {' | '.join(table.columns)} |"
        yield f"|---|{'---|' * len(table.columns)}"
        for name, cells in table.rows:
            yield f"| {name} | {' | '.join(cell.text() for cell in cells)} |"
    if report.bounds:
        yield from ("", "Bounds:", "")
        yield from (f"- {bound.text()}" for bound in report.bounds)
    if report.missing:
        yield from ("", "Peers that were not there:", "")
        yield from (f"- {name}: {why}" for name, why in report.missing.items())
    if report.notes:
        yield ""
        yield from (f"- {note}" for note in report.notes)
