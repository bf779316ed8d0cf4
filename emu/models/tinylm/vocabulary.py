"""The vocabulary of random weights: ids 0 to 255 the single bytes, then pairs of printable characters."""

from __future__ import annotations

import numpy as np

from emu.models.tinylm.layout import VOCAB
from emu.numerics.types import S32Array, U8Array

_FIRST, _LETTERS = 0x41, 62


def token_strings() -> list[bytes]:
    """All strings by id: id 256 + j is the bytes 0x41 + j / 62, 0x41 + j % 62."""
    pairs = [bytes((_FIRST + j // _LETTERS, _FIRST + j % _LETTERS)) for j in range(VOCAB - 256)]
    return [bytes((b,)) for b in range(256)] + pairs


def pack_strings(strings: list[bytes]) -> tuple[S32Array, U8Array]:
    """Tensors (tok.start [4097], tok.bytes [n]) of a vocabulary."""
    start = np.cumsum([0, *map(len, strings)]).astype(np.int32)
    return start, np.frombuffer(b"".join(strings), np.uint8)
