"""The terminal of a command: progress on anything that takes time, quiet and JSON modes.

Colours and bars are rich's: none where the output is no terminal, no colours with ``NO_COLOR``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

STANDARD_OUTPUT = "-"
"""As a file's name: standard output; what people read goes to standard error then."""
Step = Callable[[str, int], None]
"""(what is done now, so many more are finished)."""
WITHOUT_TERMINAL = 100
"""Columns of what is printed into a file or a pipe, unless the variable COLUMNS says otherwise."""
RESUME = "the same command with --resume goes on from here"


@dataclass(frozen=True)
class Terminal:
    """``usual``: tables, bars, the last line; silent with ``--quiet``. ``wrong``: what is not equal."""

    usual: Console
    wrong: Console

    @classmethod
    def of(cls, quiet: bool = False, json_file: Path | None = None) -> Terminal:
        """The terminal for the options of a command."""
        console = _console(stderr=str(json_file) == STANDARD_OUTPUT)
        return cls(Console(stderr=console.stderr, quiet=True) if quiet else console, console)


def _console(stderr: bool) -> Console:
    """In a file or a pipe, which has no width, every table has the room that it needs."""
    console = Console(stderr=stderr)
    if console.is_terminal or "COLUMNS" in os.environ:
        return console
    return Console(stderr=stderr, width=WITHOUT_TERMINAL)


@contextmanager
def progress(console: Console, total: int | None = None, forks: bool = False) -> Iterator[Step]:
    """A bar that says what is going on and for how long; nothing on anything but a terminal.

    ``total``: None when nobody knows how much there is to do. ``forks``: what goes on forks this process, so
    that there must be no thread that keeps the clock; the bar moves with each step then. What is printed
    meanwhile goes through the same console.
    """
    columns = [TextColumn("{task.description}", markup=False), BarColumn()]
    counted = [MofNCompleteColumn()] if total is not None else []
    hidden = not console.is_terminal
    # redirected, what a command prints to a pipe would end up on the terminal that shows the bar
    with Progress(*columns, *counted, TimeElapsedColumn(), console=console, transient=True, disable=hidden,
                  auto_refresh=not forks, redirect_stdout=False, redirect_stderr=False) as bar:  # fmt: skip
        task = bar.add_task("", total=total)

        def step(text: str, more: int = 0) -> None:
            bar.update(task, description=text, advance=more, refresh=forks)

        yield step


@contextmanager
def narration(console: Console) -> Iterator[Callable[[str], None]]:
    """For a search: a line for each step, which stays, and a bar below them on a terminal."""
    with progress(console) as step:
        step("searching", 0)
        yield lambda text: console.print(Text(f"... {text}", style="dim"))
