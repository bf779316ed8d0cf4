"""A prompt to token ids (docs/models.md section 1, "tokenizer")."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from typing import Final

import numpy as np

from emu.models.t2i.sizes import MAX_TOKENS
from emu.models.t2i.words import words_of
from emu.numerics.types import S32Array, U8Array

LETTERS: Final = 5
"""Letters of a word that count."""

_LOWER: Final = {
    **{c: c + 32 for c in range(ord("A"), ord("Z") + 1)},
    **{c: c + 32 for c in range(0x410, 0x430)},
    0x401: 0x435,
    0x451: 0x435,
}
_KEPT: Final = frozenset(map(chr, (*range(ord("a"), ord("z") + 1), *range(0x430, 0x450))))


def composed(prompt: str) -> bytes:
    """The prompt as the firmware wants it: NFC, UTF-8."""
    return unicodedata.normalize("NFC", prompt).encode("utf-8", "replace")


def split_words(text: bytes) -> Iterator[str]:
    """The words of a UTF-8 text, lowered and cut to five letters; anything but a letter separates."""
    lowered = text.decode("utf-8", "replace").translate(_LOWER)
    for word in "".join(c if c in _KEPT else " " for c in lowered).split():
        yield word[:LETTERS]


def tokenize(prompt: str, table: U8Array) -> S32Array:
    """Ids of the first 16 known words, int32 [T], T = 0 for the null prompt; ``table``: tok.words."""
    known = words_of(table)
    ids = [known[word] for word in split_words(composed(prompt)) if word in known]
    return np.array(ids[:MAX_TOKENS], np.int32)


def unknown_words(prompt: str, table: U8Array) -> list[str]:
    """The words of the prompt that mean nothing to the model, cut as the model sees them."""
    known = words_of(table)
    return [word for word in split_words(composed(prompt)) if word not in known]
