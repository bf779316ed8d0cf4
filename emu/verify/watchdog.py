"""Tells the parent of a worker since when a mirror has been running, so that one that never returns is ended.

A mirror may be native code, which no signal handler of Python interrupts: only another process can end it.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from multiprocessing.sharedctypes import RawArray
from typing import Any

DEFAULT_SECONDS = 120.0
"""Of one call; the first one may compile the mirror."""


class Clock:
    """Shared by a worker and its parent: when the mirror that runs was called, and for which example."""

    def __init__(self) -> None:
        self._shared: Any = RawArray("d", 2)

    def start(self, example: int) -> None:
        """The mirror is called; ``example`` -1: no numbered one."""
        self._shared[1] = example
        self._shared[0] = time.monotonic()

    def stop(self) -> None:
        """It has returned."""
        self._shared[0] = 0.0

    def overdue(self, limit: float) -> str:
        """What to say when the mirror has been running for longer than ``limit`` seconds, else ""."""
        since, example = float(self._shared[0]), int(self._shared[1])
        if not since or time.monotonic() - since <= limit:
            return ""
        which = f"example {example}" if example >= 0 else "a case made while shrinking, or of a file"
        return f"the mirror did not return within {limit:g} s (--mirror-seconds) for {which}"


_current: Clock | None = None


def use(clock: Clock) -> None:
    """The clock of this process."""
    global _current
    _current = clock


@contextlib.contextmanager
def watched(example: int) -> Iterator[None]:
    """Around the call of a mirror; no effect in a process that nobody watches."""
    if _current is None:
        yield
        return
    _current.start(example)
    try:
        yield
    finally:
        _current.stop()
