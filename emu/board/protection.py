"""Region protection: the attribute of each 512 MiB of addresses (Xtensa ISA, Region Protection Option).

Software makes regions without memory inaccessible (ESP-IDF: ``esp_cpu_configure_region_protection``). Nothing
is there on the virtual board either, so that every access is an exception with or without it; other
attributes are not modelled.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from emu.cpu.options import Service

if TYPE_CHECKING:
    from emu.cpu.engine import Engine

NO_ACCESS = 15
EMPTY = frozenset((0, 4, 5, 6, 7))
"""Regions that hold nothing of the chip."""


def _write(name: str) -> Service:
    def service(engine: Engine, values: tuple[int, ...]) -> int:
        attribute, address = values
        if attribute & 0xF != NO_ACCESS or address >> 29 not in EMPTY:
            engine.unmodelled.service(name, values)
        return 0

    return service


SERVICES: Mapping[str, Service] = {name: _write(name) for name in ("wdtlb", "witlb")}
"""For EngineOptions."""
