"""CRC-32 with the zlib polynomial (as ``zlib.crc32``), byte by byte."""

from __future__ import annotations

from typing import Final

import numpy as np

from emu.numerics.jit import jit
from emu.numerics.types import U32Array

_POLYNOMIAL = 0xEDB88320


def _table() -> U32Array:
    rows = []
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = (crc >> 1) ^ (_POLYNOMIAL if crc & 1 else 0)
        rows.append(crc)
    return np.array(rows, np.uint32)


CRC_TABLE: Final = _table()


@jit
def crc32_step(crc: np.uint32, byte: np.uint8) -> np.uint32:
    """Advance the (inverted) remainder ``crc`` by one byte."""
    return np.uint32(CRC_TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8))
