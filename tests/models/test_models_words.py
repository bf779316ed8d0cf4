"""Tokenizers: prompts as people write them, in any Unicode form, and byte strings."""

from __future__ import annotations

import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from emu.models.t2i.tokenizer import composed, split_words, tokenize, unknown_words
from emu.models.t2i.words import VOCABULARY, word_table, words_of
from emu.models.ternary.tokenizer import byte_tokens
from emu.models.tinylm.tokenizer import Tokenizer
from emu.models.tinylm.vocabulary import pack_strings, token_strings

PROMPTS = [
    "улыбающаяся девушка со светлыми волосами",  # noqa: RUF001
    "пожилой мужчина с бородой",  # noqa: RUF001
    "брюнетка с помадой",  # noqa: RUF001
    "молодой парень в очках",
    "лысый мужчина",
    "женщина в шляпе",
    "дедушка с седыми волосами",  # noqa: RUF001
    "девушка с чёлкой",  # noqa: RUF001
    "серьёзный мужчина с усами",  # noqa: RUF001
    "волнистыми волосами",
    "бабушка в очках",
    "блондинка с макияжем",  # noqa: RUF001
    "мужчина в галстуке",
    "с открытым ртом",  # noqa: RUF001
    "полный мужчина с бородкой",  # noqa: RUF001
]
TABLE = word_table()


def test_the_words():
    assert len(VOCABULARY) == len(set(VOCABULARY)) == 45
    for word in VOCABULARY:
        assert list(split_words(word.encode())) == [word]
        assert len(word.encode()) < 16
    assert words_of(TABLE) == {word: i for i, word in enumerate(VOCABULARY)}


@pytest.mark.parametrize("prompt", PROMPTS)
@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKD"])
@pytest.mark.parametrize("change", [str, str.upper, str.title], ids=["as is", "upper", "title"])
def test_every_word_of_the_prompts_is_known(prompt, form, change):
    text = unicodedata.normalize(form, change(prompt))
    assert not unknown_words(text, TABLE)
    assert tokenize(text, TABLE).tolist() == tokenize(prompt, TABLE).tolist()
    assert len(tokenize(text, TABLE)) == len(prompt.split())


def test_unknown_words_and_the_null_prompt():
    assert unknown_words("девушка-космонавт, 7 лет!", TABLE) == ["космо", "лет"]
    for prompt in ("", "...", "robot", "ъъъ", "\N{FACE WITH TEARS OF JOY}"):
        assert tokenize(prompt, TABLE).tolist() == []
    assert len(tokenize("с " * 40, TABLE)) == 16  # noqa: RUF001


def reference_words(text: bytes) -> list[str]:
    """Letter by letter, from the specification; a byte that begins no letter separates."""
    letters, place = [], 0
    while place < len(text):
        for size in (1, 2):
            try:
                letter = text[place : place + size].decode()
            except UnicodeDecodeError:
                continue
            if len(letter) == 1:
                break
        else:
            letter, size = " ", 1
        code = ord(letter)
        if 0x41 <= code <= 0x5A or 0x410 <= code <= 0x42F:
            code += 32
        code = 0x435 if code in (0x401, 0x451) else code
        letters.append(chr(code) if 0x61 <= code <= 0x7A or 0x430 <= code <= 0x44F else " ")
        place += size
    return [word[:5] for word in "".join(letters).split()]


@given(st.lists(st.one_of(st.sampled_from([*"aZяЁё7 ", "й"]).map(str.encode), st.binary(max_size=3))))
def test_words_of_any_bytes(pieces):
    text = b"".join(pieces)
    assert list(split_words(text)) == reference_words(text)


def test_lone_surrogates_do_not_end_a_run():
    assert list(split_words(composed("усы\udcff борода"))) == ["усы", "бород"]


TOKENS = Tokenizer(*pack_strings(token_strings()))


@given(st.binary(max_size=80))
def test_longest_match_gives_the_text_back(text):
    ids = TOKENS.encode(text).tolist()
    assert TOKENS.decode(ids) == text
    place = 0
    for token in ids:
        string = TOKENS.strings[token]
        place += len(string)
        longer = [
            s for s in TOKENS.strings if len(s) > len(string) and text[place - len(string) :].startswith(s)
        ]
        assert not longer


def test_strings_of_random_weights():
    strings = token_strings()
    assert len(strings) == 4096
    assert strings[256] == b"AA"
    assert strings[256 + 63] == b"BB"
    assert TOKENS.encode(b"AAA \x00").tolist() == [256, 65, 32, 0]


def test_equal_strings_take_the_lowest_id_and_long_ones_match():
    start, text = pack_strings([*[bytes((b,)) for b in range(256)], b"x" * 32, b"abab", b"abab"])
    tokens = Tokenizer(start, text)
    assert tokens.encode(b"abab" + b"x" * 33).tolist() == [257, 256, ord("x")]


def test_byte_tokens():
    assert byte_tokens(b"1+2").tolist() == [49, 43, 50] + [0] * 29
    assert byte_tokens(bytes(range(200, 256))).tolist() == list(range(200, 232))
    assert byte_tokens(b"").dtype == np.int32
