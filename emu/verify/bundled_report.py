"""What a person reads about runs of the example models: the table, and what differs."""

from __future__ import annotations

from rich.table import Table

from emu.verify.compare import decimal, hexadecimal
from emu.verify.models import Report
from emu.verify.verdict import Verdict
from emu.verify.words import plural


def explain(report: Report) -> str:
    """What a person needs to know about a model that differs."""
    lines = [f"{report.kind.label} {report.weights}, {report.run}: {report.verdict}"]
    if report.first:
        more = f" (and {report.differing - 1:,} stages after it)" if report.differing > 1 else ""
        lines.append(f"  first differing stage: {report.first}{more}")
    if report.detail is not None:
        d = report.detail
        place = ", ".join(map(str, d.index))
        values = [
            f"{hexadecimal(b, d.dtype)} ({decimal(b, d.dtype)})" for b in (d.expected_bits, d.actual_bits)
        ]
        lines.append(f"  element [{place}] of {list(d.shape)}: mirror {values[0]}, image {values[1]}")
        lines.append(f"  {d.count:,} of {d.total:,} elements differ; {d.pattern}")
    if report.message:
        lines.append(f"  {report.message}")
    return "\n".join(lines)


def table_of(reports: list[Report]) -> Table:
    """One row for each model with its weights."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("model", "weights"):
        table.add_column(name, no_wrap=True)
    for name in ("runs", "stages", "differ", "instructions", "SRAM peak", "seconds"):
        table.add_column(name, justify="right")
    table.add_column("verdict", no_wrap=True)
    for r in reports:
        style = "green" if r.verdict is Verdict.EQUAL else "bold red"
        cells = [r.kind.label, r.weights, f"{r.runs:,}", f"{r.stages:,}", f"{r.differing:,}"]
        cells += [f"{r.instructions:,}", f"{r.arena_high:,}", f"{r.seconds:.1f}"]
        table.add_row(*cells, f"[{style}]{r.verdict}[/]")
    return table


def summary(reports: list[Report], wanted: int) -> str:
    """The last line; ``wanted``: models that there are, when a run was stopped."""
    stages, runs = sum(r.stages for r in reports), sum(r.runs for r in reports)
    differ = sum(r.verdict is not Verdict.EQUAL for r in reports)
    told = "all equal" if not differ else plural(differ, "model differs", "models differ")
    many = plural(len(reports), "model") if len(reports) == wanted else f"{len(reports)} of {wanted} models"
    seconds = sum(r.seconds for r in reports)
    return f"{many}, {plural(runs, 'run')}, {plural(stages, 'stage')} compared: {told}; {seconds:.1f} s"
