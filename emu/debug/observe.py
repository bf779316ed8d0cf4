"""Seeing the memory accesses of the reference stepper.

An :class:`Observer` takes the place of the memory that the stepper's instructions (and its window spills and
fills) use, and passes everything on. A stepper without one is not slowed down.
"""

from __future__ import annotations

from typing import Any, NamedTuple, cast

from emu.cpu.memory import Memory
from emu.cpu.stepper import Stepper


class Access(NamedTuple):
    """One access of ``size`` bytes; ``value`` is little-endian, ``before`` what a store overwrote."""

    is_store: bool
    address: int
    size: int
    value: int
    before: int = 0

    @property
    def end(self) -> int:
        """First address behind the access."""
        return self.address + self.size


class Observer:
    """Collects the accesses of the stepper in ``accesses``; the user empties the list."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.accesses: list[Access] = []

    def load(self, address: int, size: int) -> int:
        """See :meth:`Memory.load`."""
        value = self.memory.load(address, size)
        self.accesses.append(Access(False, address, size, value))
        return value

    def store(self, address: int, size: int, value: int) -> None:
        """See :meth:`Memory.store`."""
        before = self._peek(address, size)
        self.memory.store(address, size, value)
        self.accesses.append(Access(True, address, size, value, before))

    def fetch(self, address: int, size: int) -> bytes:
        """See :meth:`Memory.fetch`."""
        return self.memory.fetch(address, size)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.memory, name)

    def _peek(self, address: int, size: int) -> int:
        """What memory holds, as far as looking has no effect: devices are not read."""
        region = self.memory.find(address)
        if region is None or region.buffer is None or address + size > region.end:
            return 0
        at = region.at(address)
        return int.from_bytes(region.buffer.view[at : at + size], "little")


def attach(stepper: Stepper) -> Observer:
    """Observe a stepper from now on; undo it with :func:`detach`."""
    observer = Observer(stepper.memory)
    stepper.memory = stepper.machine.memory = cast(Memory, observer)
    return observer


def detach(stepper: Stepper, observer: Observer) -> None:
    """Give the stepper its own memory back."""
    stepper.memory = stepper.machine.memory = observer.memory
