"""The registry of host functions by name, and what such a function sees of the guest."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from emu.cpu.hooks import GuestCall, Result
from emu.cpu.traps import Trap, TrapKind
from emu.rom.guest_calls import call_guest, stack_below

if TYPE_CHECKING:
    from emu.cpu.engine import Engine
    from emu.rom.serve import Rom

MASK32 = 0xFFFFFFFF


@dataclass(frozen=True)
class RomCall:
    """One call of a served function: ``call[0]`` is its first word (unsigned), and so on."""

    name: str
    guest: GuestCall
    rom: Rom

    @property
    def engine(self) -> Engine:
        """The engine that makes the call."""
        return self.guest.engine

    def __getitem__(self, index: int) -> int:
        return self.guest.argument(index)

    def signed(self, index: int) -> int:
        """Word ``index`` as int32."""
        word = self[index]
        return word - (1 << 32) if word >> 31 else word

    def wide(self, index: int) -> int:
        """The unsigned 64-bit argument whose low word is word ``index`` (an even one)."""
        return self[index + 1] << 32 | self[index]

    def read(self, address: int, size: int) -> bytes:
        """Bytes of guest memory. Raises Trap when it cannot be read."""
        return self.rom.read(self, address, size)

    def write(self, address: int, data: bytes) -> None:
        """Store bytes as the guest would. Raises Trap when it cannot."""
        self.rom.write(self, address, data)

    def check(self, address: int, size: int, kind: str) -> None:
        """Whether the guest may "load" or "store" there. Raises Trap."""
        self.rom.check(self, address, size, kind)

    def fill(self, address: int, byte: int, size: int) -> None:
        """``size`` equal bytes; the place is checked before they are made. Raises Trap."""
        self.rom.check(self, address, size, "store")
        self.rom.write(self, address, bytes([byte]) * size)

    def string(self, address: int, limit: int = 1 << 16) -> bytes:
        """Bytes up to a 0. Raises Trap."""
        return self.rom.string(self, address, limit)

    def scratch(self, size: int) -> int:
        """``size`` bytes of the stack below the caller's frame, until the function returns. Raises Trap."""
        self.rom.kept += -(-size // 16) * 16
        address = stack_below(self.engine, self.rom.kept)
        self.rom.check(self, address, size, "store")
        return address

    def call_guest(self, function: int, *words: int) -> int:
        """Call a function of the guest with up to six words; its int32 result. Raises Trap."""
        return call_guest(self.engine, function, words, self.rom.kept)

    @staticmethod
    def pair(low: int, high: int) -> np.uint64:
        """A result of two words: a struct of two, or the halves of 64 bits."""
        return np.uint64((high & MASK32) << 32 | (low & MASK32))

    def divided_by_zero(self) -> Trap:
        """The trap that the processor's own division would end in."""
        return self.trap(TrapKind.DIVIDE_BY_ZERO, f"integer division by zero in {self.name}")

    def trap(self, kind: TrapKind, message: str, address: int | None = None) -> Trap:
        """A trap at the call, told by its caller; to be raised."""
        return self.engine.traps.make(kind, message, None, address)


RomFunction = Callable[[RomCall], Result]


@dataclass(frozen=True)
class Entry:
    """``needs_board``: only with a board; ``by_symbol``: also where the image itself defines the name."""

    name: str
    function: RomFunction
    needs_board: bool = False
    by_symbol: bool = False


_REGISTRY: dict[str, Entry] = {}


def rom_function(
    *names: str, needs_board: bool = False, by_symbol: bool = False
) -> Callable[[RomFunction], RomFunction]:
    """Register a host function under ``names``, at the ROM addresses that these have.

    ``needs_board``: it is served only when :func:`emu.rom.serve` gets a board (``call.rom.board``).
    ``by_symbol``: it also takes the place of a function of that name that the image brings itself, because
    that one needs an operating system. What it returns goes back to the guest as with ``engine.serve``.
    Raises ValueError for a name that is taken.
    """

    def register(function: RomFunction) -> RomFunction:
        for name in names:
            if name in _REGISTRY:
                raise ValueError(f"two host functions are called {name!r}")
            _REGISTRY[name] = Entry(name, function, needs_board, by_symbol)
        return function

    return register


def registry() -> dict[str, Entry]:
    """All host functions by name: every module of this package has been imported."""
    import emu.rom

    for module in pkgutil.iter_modules(emu.rom.__path__):
        importlib.import_module(f"emu.rom.{module.name}")
    return _REGISTRY
