"""A profile in words and tables for the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from emu.profile.chip import PUBLISHED, PUBLISHED_GMACS, Estimate, assumptions
from emu.profile.measure import Profile

_PRODUCT = 64 * 192 * 576


def show(profile: Profile, guess: Estimate, console: Console, limit: int) -> None:
    """Print the tables; ``limit``: rows of each."""
    total = max(profile.instructions, 1)
    if len(profile.stages) > 1:
        console.print(_counts("stage", profile.families(), total, limit))
    functions = {name: count for name, (count, _) in profile.functions.items()}
    calls = {name: k for name, (_, k) in profile.functions.items()}
    console.print(_counts("function", functions, total, limit, calls))
    kinds = ", ".join(f"{kind} {share:.1%}" for kind, share in profile.mix.shares.items())
    console.print(f"kinds of instructions ({profile.mix.samples:,} samples): {kinds}", highlight=False)
    console.print(f"{profile.subject.title}: {profile.instructions:,} instructions", highlight=False)
    for what, value in estimate_rows(profile, guess):
        console.print(f"  {what}: {value}", highlight=False)
    for line in beside_published(profile, guess):
        console.print(line, highlight=False)
    console.print("assumed: " + "; ".join(assumptions()), style="dim", highlight=False)


def _counts(
    what: str, counts: dict[str, int], total: int, limit: int, calls: dict[str, int] | None = None
) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(what, no_wrap=True)
    for column in ("instructions", "share", *(("calls",) if calls else ())):
        table.add_column(column, justify="right", no_wrap=True)
    largest = sorted(counts.items(), key=lambda item: -item[1])
    rows = largest[:limit]
    rest = sum(count for _, count in largest[limit:])
    if rest:
        rows.append((f"({len(largest) - limit} others)", rest))
    for name, count in rows:
        more = (f"{calls[name]:,}" if name in calls else "",) if calls else ()
        table.add_row(name, f"{count:,}", f"{count / total:.2%}", *more)
    table.add_row("total", f"{sum(counts.values()):,}", "", style="bold")
    return table


def estimate_rows(profile: Profile, guess: Estimate) -> list[tuple[str, str]]:
    """(what, value) of an estimate."""
    counted = profile.instructions - profile.taps
    shared = guess.shared_cycles / max(guess.cycles, 1)
    rows = [
        ("instructions without taps", f"{counted:,}"),
        ("cycles of one core", f"{guess.cycles:,.0f} ({guess.cycles / max(counted, 1):.2f} an instruction)"),
        ("shared out to both cores", f"{shared:.1%}, {guess.handovers:,} jobs"),
        ("time on one core", f"{guess.one_core:.3g} s"),
        ("time on two cores", f"{guess.seconds:.3g} s: {guess.together:.3g} shared, {guess.alone:.3g} alone, "
         f"{guess.handing:.3g} handing over, {guess.flash:.3g} waiting for flash"),
    ]  # fmt: skip
    if profile.subject.macs:
        rows.append(("multiply-accumulates", f"{profile.subject.macs:,}"))
        rows.append(("rate on two cores", f"{profile.subject.macs / guess.seconds / 1e9:.2f} GMAC/s"))
    return rows


def beside_published(profile: Profile, guess: Estimate) -> list[str]:
    """How far the estimate is from published figures of the original firmware, where there are some."""
    steps, macs = profile.subject.steps, profile.subject.macs
    if steps in PUBLISHED:
        there = PUBLISHED[steps]
        return [f"published for {steps} steps: {there} s; the estimate is {guess.seconds / there:.2f} of it"]
    if macs == _PRODUCT:
        rate = macs / guess.seconds / 1e9
        return [
            f"published for 64 x 192 x 576: {PUBLISHED_GMACS} GMAC/s; the estimate is "
            f"{rate / PUBLISHED_GMACS:.2f} of it"
        ]
    return []
