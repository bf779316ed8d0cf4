# ruff: noqa: RUF001
"""The tokenizers in C against those in Python, on text of all kinds and on bytes that are no text."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emu.models.modelfile.kinds import Kind
from emu.models.modelfile.random_weights import random_tensors
from emu.models.t2i.tokenizer import split_words
from emu.models.t2i.words import VOCABULARY, word_table, words_of
from emu.models.tinylm.tokenizer import Tokenizer
from tests.firmware import host_models as h

WORDS = word_table()
KNOWN = words_of(WORDS)
LETTERS = st.sampled_from("aAzZ@[`{яЯаАеЕёЁѐЀџЏпрПР\u0300\u0306-–,. \t7")
WORDY = st.lists(st.one_of(st.sampled_from(VOCABULARY), st.text(LETTERS, max_size=7)), max_size=25)
PROMPTS = st.one_of(
    WORDY.map(lambda words: " ".join(words).encode()),
    WORDY.map(lambda words: "Я, ".join(words).title().encode()),
    st.text().map(lambda text: text.encode("utf-8", "surrogatepass")),
    st.binary(max_size=60),
    st.tuples(WORDY, st.binary(max_size=3)).map(lambda p: p[1].join(w.encode() for w in p[0])),
)


def tokens_of_c(library: ctypes.CDLL, text: bytes) -> list[int]:
    tokens = np.full(17, -1, np.int32)
    words = h.POINTER(WORDS.ctypes.data)
    count = library.t2i_tokenize(words, text, len(text), h.POINTER(tokens.ctypes.data))
    assert 0 <= count <= 16
    assert (tokens[count:] == -1).all()
    return tokens[:count].tolist()


@settings(max_examples=500)
@given(text=PROMPTS)
def test_prompt(host_firmware: ctypes.CDLL, text: bytes) -> None:
    expected = [KNOWN[word] for word in split_words(text) if word in KNOWN][:16]
    assert tokens_of_c(host_firmware, text) == expected


@pytest.mark.parametrize(
    ("prompt", "words"),
    [
        ("улыбающаяся девушка со светлыми волосами", "улыба девуш со светл волос"),
        ("ПОЖИЛОЙ МУЖЧИНА С БОРОДОЙ", "пожил мужчи с бород"),
        ("девушка с чёлкой", "девуш с челко"),
        ("лысый-мужчина,в.очках!", "лысый мужчи в очках"),
        ("xмужчина мужчинаx", "мужчи"),
        ("усам усами усамиx", "усами усами"),
    ],
)
def test_prompts_word_by_word(host_firmware: ctypes.CDLL, prompt: str, words: str) -> None:
    expected = [VOCABULARY.index(word) for word in words.split()]
    assert tokens_of_c(host_firmware, prompt.encode()) == expected


def test_sixteen_words_count(host_firmware: ctypes.CDLL) -> None:
    text = " ".join(VOCABULARY[i % 45] for i in range(20)).encode()
    assert tokens_of_c(host_firmware, text) == list(range(16))


# --- tinylm ---------------------------------------------------------------------------------------------
def model_of(start: np.ndarray, text: np.ndarray) -> h.Model:
    """A model with nothing but its words."""
    model = h.Model(kind=3)
    model.data[0], model.data[1] = start.ctypes.data, text.ctypes.data
    return model


def encoded(library: ctypes.CDLL, model: h.Model, text: bytes, capacity: int = 300) -> tuple[int, list[int]]:
    tokens = np.full(capacity + 1, -1, np.int32)
    place = h.POINTER(tokens.ctypes.data)
    count = library.tinylm_tokenize(ctypes.byref(model), text, len(text), place, capacity)
    assert tokens[capacity] == -1
    return count, tokens[: min(count, capacity)].tolist()


def vocabulary() -> tuple[np.ndarray, np.ndarray]:
    """Single bytes, then overlapping words, some of them twice, some 32 bytes long."""
    rng = np.random.default_rng(9)
    strings = [bytes((b,)) for b in range(256)]
    strings += [b"a" * n for n in (2, 3, 5, 32)] + [b"ab", b"ab", b"abc", b"bca", b"\xff\x00", b"\x00\x00"]
    while len(strings) < 4096:
        strings.append(bytes(rng.choice([97, 98, 99, 0, 255], int(rng.integers(1, 7))).tolist()))
    start = np.cumsum([0, *map(len, strings)]).astype(np.int32)
    return start, np.frombuffer(b"".join(strings), np.uint8)


START, TEXT = vocabulary()


@settings(max_examples=200)
@given(
    text=st.one_of(st.binary(max_size=80), st.lists(st.sampled_from(b"abc\x00\xff"), max_size=90).map(bytes))
)
def test_longest_word_from_the_left(host_firmware: ctypes.CDLL, text: bytes) -> None:
    expected = Tokenizer(START, TEXT).encode(text).tolist()
    assert encoded(host_firmware, model_of(START, TEXT), text) == (len(expected), expected)


def test_more_tokens_than_room(host_firmware: ctypes.CDLL) -> None:
    tensors = random_tensors(Kind.TINYLM, 1)
    model = model_of(tensors["tok.start"], tensors["tok.bytes"])
    assert encoded(host_firmware, model, b"ABC!", 2) == (3, [257, 67])
    assert encoded(host_firmware, model, b"", 2) == (0, [])
