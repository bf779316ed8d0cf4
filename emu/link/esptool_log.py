"""What esptool says, in a command of ours: a bar where there is a terminal, warnings in every case."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from esptool.logger import TemplateLogger, log
from rich.console import Console

from emu.terminal import Step, progress


def _nothing(text: str, more: int) -> None:
    """Nobody looks."""


class _Log(TemplateLogger):  # type: ignore[misc]
    """esptool's interface for programs that use it. ``step``: of the bar that is shown at the moment."""

    def __init__(self) -> None:
        self.step: Step = _nothing
        self.console = Console(stderr=True)

    def print(self, *args: Any, **kwargs: Any) -> None:
        """What is done now."""
        text = " ".join(map(str, args)).strip(" .\n")
        if text:
            self.step(text, 0)

    def note(self, message: str) -> None:
        """As :meth:`print`."""
        self.print(message)

    def warning(self, message: str) -> None:
        """Stays on the terminal."""
        self.console.print(f"esptool: {message}", markup=False, highlight=False, soft_wrap=True)

    def error(self, message: str) -> None:
        """Stays on the terminal."""
        self.warning(message)

    def stage(self, finish: bool = False) -> None:
        """Nothing is folded away."""

    def progress_bar(
        self, cur_iter: int, total_iters: int, prefix: str = "", suffix: str = "", bar_length: int = 30
    ) -> None:
        """How far it is."""
        self.step(f"{prefix.strip()} {cur_iter / total_iters if total_iters else 1:.0%}", 0)

    def set_verbosity(self, verbosity: str) -> None:
        """Not asked for."""


@cache
def _installed() -> _Log:
    """The one log of this process: esptool does not give back the one that it had."""
    made = _Log()
    log.set_logger(made)
    return made


@contextmanager
def esptool_told(quiet: bool = False) -> Iterator[None]:
    """Everything that esptool does in the block is told on standard error, where results do not go."""
    told = _installed()
    told.console = Console(stderr=True)
    shown = Console(stderr=True, quiet=True) if quiet else told.console
    with progress(shown) as told.step:
        told.step("esptool", 0)
        try:
            yield
        finally:
            told.step = _nothing
