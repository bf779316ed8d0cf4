"""Functions of the ROM that need the board: serial lines, flash, interrupts, cache, resets, MD5, inflate.

:mod:`emu.rom` serves what needs none (libc, printf); :func:`board_functions` are given to it beside its own.
Signatures: ESP-IDF, components/esp_rom/include/esp32s3/rom.
"""

from __future__ import annotations

from emu.board.rom import cache, compute, flash, interrupts, system, uart
from emu.rom.functions import RomFunction

_MODULES = (cache, compute, flash, interrupts, system, uart)


def board_functions() -> dict[str, RomFunction]:
    """Every function by its name in the ROM's symbol table."""
    found: dict[str, RomFunction] = {}
    for module in _MODULES:
        found.update(module.FUNCTIONS)
    return found
