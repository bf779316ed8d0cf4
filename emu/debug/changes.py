"""Which registers and states differ between two moments, found by comparing bytes of the state structure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

import numpy as np

from emu.cpu.state import OFFSETS, REGISTER_FILES, SIZE, STATES, CpuState

Words = np.ndarray[Any, np.dtype[np.uint32]]
_WORDS = SIZE // 4


@dataclass(frozen=True)
class Change:
    """One register or state. ``name``: a0..a15 of the window after the instruction, ar16.. outside of it,
    q0, f0, m0, br, or a state's name; ``bits`` is its width."""

    name: str
    bits: int
    before: int
    after: int


@dataclass(frozen=True)
class _Field:
    """A register at ``word`` (4 bytes each) of the structure, ``words`` long."""

    file: str
    index: int
    word: int
    words: int
    bits: int


def live_words(state: CpuState) -> Words:
    """The state's bytes as 32-bit words, not copied: it changes as the processor runs."""
    return np.frombuffer(cast(Any, state), np.uint32, _WORDS)


def changes(before: Words, after: Words, ignore: frozenset[str] = frozenset({"PC"})) -> list[Change]:
    """Architectural differences in the order of the structure; engine fields are left out."""
    different = np.flatnonzero((before != after) & _architectural())
    if not different.size:
        return []
    base = int(after[OFFSETS["WindowBase"] // 4])
    fields = {id(field): field for field in (_fields()[int(word)] for word in different)}
    found = [_change(field, before, after, base) for field in fields.values()]
    return [change for change in found if change.name not in ignore]


def equal(before: Words, after: Words) -> bool:
    """True when no architectural value differs."""
    return not bool(((before != after) & _architectural()).any())


def register_name(physical: int, window_base: int) -> str:
    """a0..a15 when the register lies in the window, else ar0..ar63."""
    index = (physical - 4 * window_base) & 63
    return f"a{index}" if index < 16 else f"ar{physical}"


def _change(field: _Field, before: Words, after: Words, base: int) -> Change:
    place = slice(field.word, field.word + field.words)
    old, new = (int.from_bytes(words[place].tobytes(), "little") for words in (before, after))
    if field.file == "ar":
        name = register_name(field.index, base)
    else:
        name = field.file if field.index < 0 else f"{field.file}{field.index}"
    return Change(name, field.bits, old, new)


@cache
def _architectural() -> np.ndarray[Any, np.dtype[np.bool_]]:
    mask = np.zeros(_WORDS, np.bool_)
    for field in _all_fields():
        mask[field.word : field.word + field.words] = True
    return mask


@cache
def _fields() -> dict[int, _Field]:
    """The field at each word of the structure."""
    return {word: f for f in _all_fields() for word in range(f.word, f.word + f.words)}


@cache
def _all_fields() -> tuple[_Field, ...]:
    return tuple(_list_fields())


def _list_fields() -> Iterator[_Field]:
    for member, number, bits in REGISTER_FILES.values():
        word, size = OFFSETS[member] // 4, -(-bits // 32)
        if member == "br":
            yield _Field("br", -1, word, 1, 16)
            continue
        letter = "m" if member == "mr" else member
        for index in range(number):
            yield _Field(letter, index, word + index * size, size, bits)
    for name, bits in STATES.items():
        size = cast(int, getattr(CpuState, name).size)
        yield _Field(name, -1, OFFSETS[name] // 4, size // 4, bits)
