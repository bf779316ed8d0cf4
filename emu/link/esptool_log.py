"""What esptool says, in a command of ours: a bar where there is a terminal, warnings in every case."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from esptool.logger import EsptoolLogger, TemplateLogger, log
from rich.console import Console

from emu.terminal import Step, progress


class _Log(TemplateLogger):  # type: ignore[misc]
    """esptool's interface for programs that use it."""

    def __init__(self, console: Console, step: Step) -> None:
        self._console, self._step = console, step

    def print(self, *args: Any, **kwargs: Any) -> None:
        """What is done now."""
        text = " ".join(map(str, args)).strip(" .\n")
        if text:
            self._step(text, 0)

    def note(self, message: str) -> None:
        """As :meth:`print`."""
        self.print(message)

    def warning(self, message: str) -> None:
        """Stays on the terminal."""
        self._console.print(f"esptool: {message}", markup=False, highlight=False, soft_wrap=True)

    def error(self, message: str) -> None:
        """Stays on the terminal."""
        self.warning(message)

    def stage(self, finish: bool = False) -> None:
        """Nothing is folded away."""

    def progress_bar(
        self, cur_iter: int, total_iters: int, prefix: str = "", suffix: str = "", bar_length: int = 30
    ) -> None:
        """How far it is."""
        self._step(f"{prefix.strip()} {cur_iter / total_iters if total_iters else 1:.0%}", 0)

    def set_verbosity(self, verbosity: str) -> None:
        """Not asked for."""


@contextmanager
def esptool_told(quiet: bool = False) -> Iterator[None]:
    """Everything that esptool does in the block is told on standard error, where results do not go."""
    console = Console(stderr=True)
    shown = Console(stderr=True, quiet=True) if quiet else console
    with progress(shown) as step:
        step("esptool", 0)
        log.set_logger(_Log(console, step))
        try:
            yield
        finally:
            log.set_logger(EsptoolLogger())
