"""The progress bar of a campaign (rich), drawn from the one thread there is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn
from rich.progress import TimeRemainingColumn as Remaining
from rich.text import Text

from emu.kernels.spec import Kernel
from emu.verify.campaign import Campaign, Listener
from emu.verify.report import short


class Rate(ProgressColumn):
    """Examples or patterns a second."""

    def render(self, task: Task) -> Text:
        """The speed of the last moments."""
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{short(speed)}/s", style="cyan")


@contextmanager
def progress_listener(console: Console, kernels: Sequence[Kernel], exhaustive: bool) -> Iterator[Listener]:
    """A listener that redraws the bar; on anything but a terminal it does nothing."""
    if not console.is_terminal:
        yield lambda campaign, symbol, running: None
        return
    amount = TextColumn("{task.fields[amount]}") if exhaustive else MofNCompleteColumn()
    columns = (TextColumn("{task.description}"), BarColumn(), amount, Rate(), Remaining())
    # no refresh thread: workers are forked from this process
    with Progress(*columns, console=console, auto_refresh=False, transient=True) as bar:
        task = bar.add_task("verify", total=None, amount="")

        def listen(campaign: Campaign, symbol: str, running: int) -> None:
            results = campaign.results.values()
            total = sum(r.wanted for r in results)
            done = sum(r.wanted if r.failure or r.error else r.examples for r in results) + running
            finished = sum(r.failure is not None or bool(r.error) or r.examples >= r.wanted for r in results)
            bar.update(
                task,
                total=total,
                completed=min(done, total),
                description=f"{finished}/{len(results)} kernels",
                amount=f"{short(done)} of {short(total)}",
            )
            bar.refresh()

        yield listen
