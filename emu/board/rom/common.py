"""What the modules of this package share."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from emu.rom.functions import RomCall, RomFunction

if TYPE_CHECKING:
    from emu.board.machine import Machine


def machine(call: RomCall) -> Machine:
    """The machine that the call is made on."""
    return cast("Machine", call.rom.board)


def giving(value: int) -> RomFunction:
    """A function that has nothing to do here and returns ``value``."""
    return lambda call: value


def load_word(call: RomCall, address: int) -> int:
    """A word of guest memory. Raises Trap."""
    return int.from_bytes(call.read(address, 4), "little")


def store_word(call: RomCall, address: int, value: int) -> None:
    """Store a word. Raises Trap."""
    call.write(address, (value & 0xFFFFFFFF).to_bytes(4, "little"))
