"""Functions of the chip's ROM and of the system, served by the host: no boot, no ROM dump.

An application of ESP-IDF calls functions that lie in the chip's ROM by absolute address (memcpy, __divsf3,
esp_rom_printf, ...). :func:`serve` hooks these addresses of an engine with host functions that do the same.
To add functions: a module in this package that decorates them with :func:`rom_function`; nothing else has to
be edited.
"""

from __future__ import annotations

from emu.rom.functions import RomCall, rom_function
from emu.rom.serve import Rom, serve
from emu.rom.symbols import RomSymbol, rom_address, rom_symbol_at, rom_symbols

__all__ = [
    "Rom",
    "RomCall",
    "RomSymbol",
    "rom_address",
    "rom_function",
    "rom_symbol_at",
    "rom_symbols",
    "serve",
]
