"""Public symbols of the chip's ROM: data/symbols.csv (facts from ESP-IDF, components/esp_rom/esp32s3/ld)."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

RADIO = range(0x40002730, 0x40006438)
"""The ROM's jump table of USB DFU, Bluetooth, Wi-Fi, coexistence and PHY functions, not listed by name."""


@dataclass(frozen=True)
class RomSymbol:
    """``kind``: "function" or "data"; ``group``: part of the ROM; ``source``: linker script that names it."""

    address: int
    name: str
    kind: str
    group: str
    source: str


@lru_cache(maxsize=1)
def rom_symbols() -> tuple[RomSymbol, ...]:
    """All symbols by address; of several names of one address the ROM's own comes first."""
    text = files("emu.rom").joinpath("data/symbols.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(line for line in text.splitlines() if not line.startswith("#"))
    return tuple(
        RomSymbol(int(r["address"], 16), r["name"], r["kind"], r["group"], r["source"]) for r in rows
    )


@lru_cache(maxsize=1)
def _by_name() -> dict[str, tuple[int, ...]]:
    found: dict[str, list[int]] = {}
    for symbol in rom_symbols():
        found.setdefault(symbol.name, []).append(symbol.address)
    return {name: tuple(addresses) for name, addresses in found.items()}


@lru_cache(maxsize=1)
def _by_address() -> dict[int, RomSymbol]:
    found: dict[int, RomSymbol] = {}
    for symbol in rom_symbols():
        found.setdefault(symbol.address, symbol)
    return found


def rom_addresses(name: str) -> tuple[int, ...]:
    """All addresses of a name, () for an unknown one: some have a jump table entry and a code address."""
    return _by_name().get(name, ())


def rom_address(name: str) -> int:
    """The first address of a name. Raises KeyError."""
    return _by_name()[name][0]


def rom_symbol_at(address: int) -> RomSymbol | None:
    """The symbol of exactly that address."""
    return _by_address().get(address)


def describe_rom(address: int) -> str:
    """What is known about an address in the ROM, for messages: a name with its group, or where it lies."""
    symbol = rom_symbol_at(address)
    if symbol is not None:
        return f"{symbol.name} ({symbol.group})"
    if address in RADIO:
        return "a function of the radio part (Bluetooth, Wi-Fi, PHY, USB DFU)"
    return "without a public name"
