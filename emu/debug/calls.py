"""One call of a guest function with its buffers, ready to be run by any engine in any way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from emu.cpu.calls import Argument
from emu.cpu.engine import DEFAULT_BUDGET, Engine, Entered
from emu.cpu.shadow import INIT, READ, WRITE
from emu.debug.errors import DebugInputError

LEAD = 1024
ALIGNMENT = 64
GAP = 64
"""Bytes of the arena before the first buffer; what buffers are aligned to; at least this much between two."""


@dataclass(frozen=True)
class Buffer:
    """An argument that is passed by pointer. ``dtype``: how its bytes are shown.

    ``offset`` is added to an address that is a multiple of 64.
    """

    data: bytes
    dtype: str = "uint8"
    name: str = ""
    offset: int = 0

    def elements(self, data: bytes) -> np.ndarray[tuple[int], np.dtype[np.generic]]:
        """Bytes as elements of the buffer's type, flat; a rest at the end is left out."""
        dtype = np.dtype(self.dtype)
        return np.frombuffer(data[: len(data) // dtype.itemsize * dtype.itemsize], dtype)


@dataclass(frozen=True)
class Call:
    """``function``: symbol or address. ``dirty``: see :meth:`Engine.call`. ``budget``: instructions.

    ``returns``: words of the result that mean something (0 for a void function, at most 4).
    """

    function: str | int
    arguments: Sequence[Argument | Buffer] = ()
    dirty: int | None = None
    budget: int = DEFAULT_BUDGET
    returns: int = 1


@dataclass(frozen=True)
class Place:
    """Where a buffer is in guest memory, and what it held before the call."""

    name: str
    address: int
    buffer: Buffer

    @property
    def end(self) -> int:
        """First address behind the buffer."""
        return self.address + len(self.buffer.data)


@dataclass(frozen=True)
class Started:
    """A call of which no instruction has run yet."""

    call: Call
    entered: Entered
    places: tuple[Place, ...] = ()
    names: Mapping[str, Place] = field(default_factory=dict)

    def place_at(self, address: int) -> Place | None:
        """The buffer that holds a guest address."""
        return next((p for p in self.places if p.address <= address < p.end), None)


def start(engine: Engine, call: Call) -> Started:
    """Put the call's buffers into the arena and the machine at its first instruction.

    Registers, and memory outside of the buffers, are left as they are. Raises DebugInputError when the
    buffers do not fit, and what :meth:`Engine.begin` raises.
    """
    places: list[Place] = []
    words: list[Argument] = []
    position = engine.arena.start + LEAD
    for index, argument in enumerate(call.arguments):
        if not isinstance(argument, Buffer):
            words.append(argument)
            continue
        address = -(-position // ALIGNMENT) * ALIGNMENT + argument.offset
        place = Place(argument.name or f"arg{index + 1}", address, argument)
        position = place.end + GAP
        if position > engine.arena.end:
            raise DebugInputError(f"the buffers need more than the {engine.arena.size:,} bytes of the arena")
        places.append(place)
        words.append(address)
    for place in places:
        engine.memory.write(place.address, place.buffer.data)
        if engine.options.bounds:
            engine.memory.shadow.allow(place.address, len(place.buffer.data), READ | WRITE | INIT)
    entered = engine.begin(call.function, words, dirty=call.dirty)
    engine.allow(call.budget)
    return Started(call, entered, tuple(places), {place.name: place for place in places})
