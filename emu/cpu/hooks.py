"""Host callbacks at guest addresses: taps, functions served by the host, breakpoints.

A hook runs when the instruction at its address is about to be executed, once for each execution: an
instruction that is restarted (a window had to be spilled first, a handler ran in between) is not announced
again. A served address never executes: the host function takes the place of the guest's function and returns
to its caller.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from emu.cpu.state import CpuState

if TYPE_CHECKING:
    from emu.cpu.engine import Engine

MASK32 = 0xFFFFFFFF
STRING_LIMIT = 4096

Result = int | float | np.generic | None
Callback = Callable[["GuestCall"], object]
"""A hook; giving STOP stops the run in front of the instruction, anything else goes on."""
Served = Callable[["GuestCall"], Result]
"""A host function for a guest function; what it gives is the guest's result (see emu.cpu.calls)."""


class Stop:
    """What a callback gives to stop the run."""


STOP = Stop()


class HookError(Exception):
    """A hook that cannot be set."""


@dataclass(frozen=True)
class GuestCall:
    """The guest as a callback sees it: at the first instruction of a function, or anywhere."""

    engine: Engine
    address: int

    @property
    def state(self) -> CpuState:
        """The processor."""
        return self.engine.state

    @property
    def caller(self) -> int:
        """Where the function returns to, at its first instruction."""
        word = self._word(0)
        return (self.address & 0xC0000000) | (word & 0x3FFFFFFF) if self.step else word

    @property
    def step(self) -> int:
        """How many panes the window moves: 1, 2, 3 for call4, call8, call12; 0 for call0."""
        return int(self.state.PSCALLINC)

    def argument(self, index: int) -> int:
        """Word ``index`` of the arguments (unsigned), before ``entry`` has run."""
        if index < 6:
            return self._word(2 + index)
        place = self.state.get_a(1) + 4 * (index - 6)
        return int.from_bytes(self.engine.memory.read(place & MASK32, 4), "little")

    def arguments(self, count: int) -> list[int]:
        """The first ``count`` words."""
        return [self.argument(i) for i in range(count)]

    def register(self, index: int) -> int:
        """a<index> of the current window."""
        return self.state.get_a(index)

    def data(self, address: int, size: int) -> bytes:
        """Bytes of guest memory. Raises MemoryFault."""
        return self.engine.memory.read(address, size)

    def string(self, address: int) -> bytes:
        """Bytes up to a 0 (at most 4096). Raises MemoryFault."""
        found = bytearray()
        while len(found) < STRING_LIMIT:
            byte = self.data((address + len(found)) & MASK32, 1)
            if byte == b"\0":
                break
            found += byte
        return bytes(found)

    def give_back(self, result: Result) -> None:
        """Return to the caller with a result of up to 64 bits, as the function's last instruction would."""
        from emu.cpu.calls import argument_words

        words = [] if result is None else argument_words([result])[0]
        target = self.caller
        for i, word in enumerate(words):
            self.state.ar[self._place(2 + i)] = word
        self.state.PC = target

    def _place(self, index: int) -> int:
        """Physical register of the function's a<index>, while the window is still the caller's."""
        return (4 * (int(self.state.WindowBase) + self.step) + index) & 63

    def _word(self, index: int) -> int:
        return int(self.state.ar[self._place(index)])


@dataclass
class Hook:
    """One callback at an address; :meth:`remove` takes it away again."""

    address: int
    callback: Callback
    is_served: bool = False
    hits: int = 0
    _owner: Hooks | None = field(default=None, repr=False)

    def remove(self) -> None:
        """No effect when it is removed already."""
        if self._owner is not None:
            self._owner.remove(self)
            self._owner = None


class Hooks:
    """The hooks of one engine by address; translated code ends in front of these addresses."""

    def __init__(self) -> None:
        self.changed: Callable[[int], None] = lambda address: None
        """Called when an address becomes hooked, or is not hooked any more."""
        self._hooks: dict[int, list[Hook]] = {}

    def __contains__(self, address: object) -> bool:
        return address in self._hooks

    def __len__(self) -> int:
        return len(self._hooks)

    def __iter__(self) -> Iterator[int]:
        return iter(self._hooks)

    def at(self, address: int) -> tuple[Hook, ...]:
        """Hooks of an address in the order in which they were set; the host's function is last."""
        return tuple(sorted(self._hooks.get(address, ()), key=lambda hook: hook.is_served))

    def add(self, address: int, callback: Callback, is_served: bool = False) -> Hook:
        """Set a hook. Raises HookError for a second function at one address."""
        known = self._hooks.setdefault(address, [])
        if is_served and any(hook.is_served for hook in known):
            raise HookError(f"{address:#010x} is already served by a function of the host")
        hook = Hook(address, callback, is_served, _owner=self)
        known.append(hook)
        self.changed(address)
        return hook

    def remove(self, hook: Hook) -> None:
        """Take a hook away."""
        known = self._hooks.get(hook.address, [])
        if hook in known:
            known.remove(hook)
            if not known:
                del self._hooks[hook.address]
            self.changed(hook.address)


__all__ = ["STOP", "Callback", "GuestCall", "Hook", "HookError", "Hooks", "Result", "Served"]
