"""What a person reads about goldens on the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rich.console import Console
from rich.table import Table
from rich.text import Text

from emu.goldens.check import Change, Checked
from emu.terminal import Terminal
from emu.verify.compare import Difference, decimal, hexadecimal
from emu.verify.words import plural

_SHOWN = 12


def print_checked(terminal: Terminal, results: Iterable[Checked]) -> None:
    """A row for each golden, then what changed."""
    results = list(results)
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("golden", no_wrap=True)
    table.add_column("target", no_wrap=True)
    for name in ("stages", "differ", "instructions"):
        table.add_column(name, justify="right")
    table.add_column("verdict", no_wrap=True)
    for r in results:
        style, verdict = ("bold red", "mismatch") if r.changes else ("green", "equal")
        counted = f"{r.instructions:,}" if r.instructions else "-"
        row = [r.name, r.target, f"{r.stages:,}", f"{len(r.changes):,}", counted]
        table.add_row(*row, Text(verdict, style=style))
    terminal.usual.print(table)
    for r in results:
        if r.changes:
            print_changes(terminal.wrong, r.name, r.changes, r.details)


def print_changes(
    console: Console, name: str, changes: list[Change], details: Mapping[str, Difference]
) -> None:
    """The changed stages in order; elements where tensors are kept."""
    console.print(Text(f"{name}: {plural(len(changes), 'stage')}, first {changes[0].stage}"))
    for change in changes[:_SHOWN]:
        console.print(Text(f"  {change.stage}: {_hex(change.recorded)} -> {_hex(change.found)}"))
        if change.stage in details:
            console.print(Text(f"    {_detail(details[change.stage])}"))
    if len(changes) > _SHOWN:
        console.print(Text(f"  ... and {len(changes) - _SHOWN:,} more"))


def _hex(digest: int | None) -> str:
    return "not there" if digest is None else f"{digest:016X}"


def _detail(d: Difference) -> str:
    values = [f"{hexadecimal(b, d.dtype)} ({decimal(b, d.dtype)})" for b in (d.expected_bits, d.actual_bits)]
    place = ", ".join(map(str, d.index))
    return (
        f"element [{place}] of {list(d.shape)}: recorded {values[0]}, now {values[1]}; "
        f"{d.count:,} of {d.total:,} elements; {d.pattern}"
    )
