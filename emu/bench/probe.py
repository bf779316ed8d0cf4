"""Where an engine's time goes: translating, loading what was translated before, the slow tier.

The parts of the engine are wrapped while the probe is on, in this process only; nothing in the engine knows
of it. Times exclude each other: a step inside a translation would count once.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

from emu.cpu.stepper import Stepper
from emu.cpu.translator import dispatch, library

_WRAPPED = (
    (dispatch.Translator, "_unit", "translating"),
    (library.Library, "helpers", "translating"),
    (Stepper, "step", "stepping"),
    (Stepper, "run", "stepping"),
)
_COUNTED: tuple[tuple[Any, str], ...] = ((dispatch, "discover"),)


@dataclass
class Times:
    """Seconds; ``instructions``: guest instructions in the units that were made or loaded."""

    translating: float = 0.0
    stepping: float = 0.0
    instructions: int = 0
    units: int = 0

    def as_dict(self) -> dict[str, float]:
        """For JSON."""
        return asdict(self)


class _Clock:
    """Adds to one of the times at a time: the innermost one that is open."""

    def __init__(self, times: Times) -> None:
        self._times = times
        self._open: list[str] = []
        self._since = 0.0

    def wrap(self, function: Callable[..., Any], name: str) -> Callable[..., Any]:
        @functools.wraps(function)
        def timed(*args: Any, **kwargs: Any) -> Any:
            self._switch()
            self._open.append(name)
            try:
                return function(*args, **kwargs)
            finally:
                self._switch()
                self._open.pop()

        return timed

    def _switch(self) -> None:
        now = time.perf_counter()
        if self._open:
            name = self._open[-1]
            setattr(self._times, name, getattr(self._times, name) + now - self._since)
        self._since = now


@contextmanager
def probing() -> Iterator[Times]:
    """Measure everything that this process's engines do inside."""
    times = Times()
    clock = _Clock(times)
    changed = [*_COUNTED, *((owner, name) for owner, name, _ in _WRAPPED)]
    kept = [(owner, name, getattr(owner, name)) for owner, name in changed]
    try:
        for owner, name in _COUNTED:
            setattr(owner, name, _counting(getattr(owner, name), times))
        for owner, name, what in _WRAPPED:
            setattr(owner, name, clock.wrap(getattr(owner, name), what))
        yield times
    finally:
        for owner, name, function in kept:
            setattr(owner, name, function)


def _counting(discover: Callable[..., Any], times: Times) -> Callable[..., Any]:
    @functools.wraps(discover)
    def counted(*args: Any, **kwargs: Any) -> Any:
        code = discover(*args, **kwargs)
        if code is not None:
            times.instructions += len(code.steps)
            times.units += 1
        return code

    return counted
