"""Text to tokens and back: the longest known byte string from the left (docs/models.md section 3)."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import numpy as np

from emu.models.tinylm.layout import MAX_TOKEN_BYTES
from emu.numerics.types import S32Array, U8Array


class Tokenizer:
    """Byte strings by id; among equal strings the lowest id counts."""

    def __init__(self, start: S32Array, text: U8Array) -> None:
        """``start`` int32 [4097], ``text`` uint8 [n]: the tensors tok.start and tok.bytes."""
        data, ends = text.tobytes(), start.tolist()
        self.strings = [data[a:b] for a, b in pairwise(ends)]
        self._ids: dict[bytes, int] = {}
        for i, string in enumerate(self.strings):
            self._ids.setdefault(string, i)

    def encode(self, text: bytes) -> S32Array:
        """Token ids of the text, int32 [n]."""
        ids, place = [], 0
        while place < len(text):
            size = next(n for n in range(MAX_TOKEN_BYTES, 0, -1) if text[place : place + n] in self._ids)
            piece = text[place : place + size]
            ids.append(self._ids[piece])
            place += len(piece)
        return np.array(ids, np.int32)

    def decode(self, ids: Iterable[int]) -> bytes:
        """The bytes of the tokens one after the other."""
        return b"".join(self.strings[i] for i in ids)
