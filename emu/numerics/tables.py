"""Constant tables: GELU values and slopes, rotary and time-embedding frequencies (docs/numerics.md 7 and 10).

The files are written by tools/make_tables.py; each is checked against its CRC-32 when it is read.
"""

from __future__ import annotations

import functools
import zlib
from importlib import resources
from typing import Final

import numpy as np

from emu.numerics.types import F32Array

TABLE_CRC: Final = {
    "gelu_value": 0x27D3D893,
    "gelu_slope": 0x768772E5,
    "rope_frequency": 0x4EFC7BB9,
    "time_frequency": 0xD44194AD,
}
"""CRC-32 of each table's little-endian bytes; a loader of model files checks the same numbers."""


class TableError(RuntimeError):
    """A table of the installation is missing or damaged."""


def check_table(name: str, content: bytes) -> None:
    """Raise TableError when ``content`` is not the table ``name``; the message says which and what to do."""
    crc = zlib.crc32(content)
    if crc != TABLE_CRC[name]:
        raise TableError(
            f"table {name} is damaged: CRC-32 0x{crc:08X} over {len(content)} bytes, expected "
            f"0x{TABLE_CRC[name]:08X}; reinstall the package or run tools/make_tables.py"
        )


@functools.cache
def _content(name: str) -> bytes:
    file = resources.files("emu.numerics") / "data" / f"{name}.f32"
    try:
        content = file.read_bytes()
    except OSError as error:
        raise TableError(f"table {name} cannot be read ({error}); reinstall the package") from error
    check_table(name, content)
    return content


def table(name: str) -> F32Array:
    """A fresh float32 array with the table ``name`` (a key of TABLE_CRC)."""
    return np.frombuffer(_content(name), "<f4").astype(np.float32)


def gelu_tables() -> tuple[F32Array, F32Array]:
    """GELU values and slopes, float32 [1024] each."""
    return table("gelu_value"), table("gelu_slope")
