"""The 45 words that a picture is asked for with: first five letters, lower case, no yo.

They cover what people write about a face in Russian: who it is, age, build, mood, colour and shape of the
hair, beard and moustache, what is worn, and the prepositions between them. Their order is their token id, so
it never changes; the table travels in the model file.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from emu.models.t2i.sizes import WORD_BYTES, WORDS
from emu.numerics.types import U8Array

VOCABULARY: Final = (
    *("с", "со", "в", "без"),  # noqa: RUF001
    *("женщи", "девуш", "бабуш", "мужчи", "парен", "дедуш"),
    *("молод", "пожил", "стары", "полны"),
    *("улыба", "улыбк", "серье", "откры", "ртом"),
    *("волос", "блонд", "брюне", "светл", "темны", "черны", "рыжим", "рыжая", "кашта", "седым", "седой"),
    *("волни", "прямы", "кудря", "длинн", "корот", "челко", "лысый"),
    *("бород", "усами"),
    *("очках", "шляпе", "шапке", "галст", "помад", "макия"),
)
"""Words by token id."""


def word_table(words: tuple[str, ...] = VOCABULARY) -> U8Array:
    """The tensor ``tok.words``: UTF-8 filled up with zeros, uint8 [45][16]."""
    table = np.zeros((WORDS, WORD_BYTES), np.uint8)
    for row, word in zip(table, words, strict=True):
        text = word.encode()
        row[: len(text)] = list(text)
    return table


def words_of(table: U8Array) -> dict[str, int]:
    """Token ids by word, from a ``tok.words`` tensor; the first of equal words counts."""
    words: dict[str, int] = {}
    for i, row in enumerate(table):
        words.setdefault(bytes(row).rstrip(b"\0").decode("utf-8", "replace"), i)
    return words
