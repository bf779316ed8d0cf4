"""What a person sees on the terminal: the table of kernels and the details of each failure (rich)."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from emu.terminal import Terminal
from emu.verify.campaign import Campaign
from emu.verify.describe import failure_lines
from emu.verify.results import KernelResult
from emu.verify.verdict import Verdict
from emu.verify.words import plural

_STYLE = {
    Verdict.EQUAL: "green",
    Verdict.MISMATCH: "bold red",
    Verdict.BOARD_FAULT: "bold magenta",
    Verdict.LINK_FAULT: "bold yellow",
    Verdict.TOOL_ERROR: "bold yellow",
    Verdict.NOT_RUN: "dim",
}


_NAME = 18
"""Characters that a name in the table has on one line at least; where a terminal is narrow, longer ones go on
on the next line: cut, neighbours could not be told apart."""
_FINDINGS = 12
"""Lines of a panel of findings."""


def short(number: float) -> str:
    """Three digits and a unit: 12.3 M."""
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if number >= size:
            return f"{number / size:.{1 if number < 100 * size else 0}f} {unit}"
    return f"{number:.0f}"


def kernel_table(campaign: Campaign, unit: str = "examples") -> Table:
    """One row per kernel; ``unit``: what was counted."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    longest = max((len(symbol) for symbol in campaign.results), default=0)
    table.add_column("kernel", overflow="fold", min_width=min(_NAME, longest))
    is_sourced = any(r.kernel.source for r in campaign.results.values())
    if is_sourced:
        table.add_column("numerics")
    widest = max((len(f"{r.examples:,}") for r in campaign.results.values()), default=0)
    table.add_column(unit, justify="right", no_wrap=True, min_width=widest)
    table.add_column("differ", justify="right", no_wrap=True)
    table.add_column("instructions", justify="right", no_wrap=True)
    table.add_column("seconds", justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for result in campaign.results.values():
        table.add_row(
            result.kernel.symbol,
            *([result.kernel.source.removeprefix("numerics ")] if is_sourced else []),
            f"{result.examples:,}",
            f"{result.bad:,}",
            short(result.instructions) if result.instructions else "-",
            f"{result.seconds:.1f}",
            Text(str(result.verdict), style=_STYLE[result.verdict]),
        )
    return table


def failure_panel(result: KernelResult, selection: str) -> RenderableType | None:
    """Details of one kernel's failure or error; None when there is nothing to tell."""
    parts: list[RenderableType] = []
    if result.failure is not None:
        grid = Table.grid(padding=(0, 2))
        grid.add_column(style="bold", no_wrap=True)
        grid.add_column(overflow="fold")
        for label, text in failure_lines(result.kernel, result.failure, selection):
            grid.add_row(label, Text(text))
        parts.append(grid)
    if result.error:
        parts.append(Text(result.error))
    if not parts:
        return None
    title = f"{result.verdict}: {result.kernel.symbol}"
    return Panel(Group(*parts), title=Text(title, style=_STYLE[result.verdict]), title_align="left")


def findings_panel(result: KernelResult) -> RenderableType:
    """What ``--check`` noticed in one kernel."""
    noticed = result.noticed
    if not noticed.examples:
        return Text(f"{result.kernel.symbol}: no example was short enough for --check")
    lines = [str(notice) for notice in noticed.ordered()]
    shown = [*lines[:_FINDINGS]] if len(lines) > _FINDINGS + 1 else lines
    if len(shown) < len(lines):
        shown.append(f"and {len(lines) - len(shown)} more (--json FILE has all)")
    told = "\n".join(shown) or "nothing"
    plural = "s" * (noticed.examples != 1)
    title = f"noticed in {noticed.examples} example{plural} of {result.kernel.symbol}"
    title += f", {noticed.stack:,} bytes of stack" if noticed.stack else ""
    return Panel(Text(told), title=Text(title), title_align="left", border_style="dim")


def leak_text(result: KernelResult) -> str:
    """What stayed allocated; a note, since a function may keep memory on purpose."""
    plural = "s" * (result.leaking != 1)
    return (
        f"{result.kernel.symbol} leaves memory allocated in {result.leaking:,} example{plural}, "
        f"for example {result.leak}"
    )


def summary(campaign: Campaign, unit: str = "examples") -> str:
    """The last line."""
    results = campaign.results.values()
    examples = sum(r.examples for r in results)
    counts = {v: sum(r.verdict is v for r in results) for v in Verdict}
    told = ", ".join(f"{n} {v}" for v, n in counts.items() if n)
    stopped = "interrupted: " if campaign.interrupted else ""
    return (
        f"{stopped}{plural(len(results), 'kernel')}: {told}; {plural(examples, unit.removesuffix('s'))}, "
        f"seed {campaign.options.seed}, "
        f"{campaign.seconds:.1f} s"
    )


def print_campaign(terminal: Terminal, campaign: Campaign, selection: str, unit: str = "examples") -> None:
    """Table, details, summary."""
    console = terminal.usual
    console.print(kernel_table(campaign, unit))
    for result in campaign.results.values():
        panel = failure_panel(result, selection)
        if panel is not None:
            terminal.wrong.print(panel)
    for result in campaign.results.values() if campaign.options.check else ():
        console.print(findings_panel(result))
    for result in campaign.results.values():
        if result.leaking:
            console.print(Text(leak_text(result)))
    if campaign.interrupted or any(r.verdict is not Verdict.EQUAL for r in campaign.results.values()):
        console = terminal.wrong
    for note in campaign.notes:
        console.print(Text(note))
    console.print(Text(summary(campaign, unit)))
