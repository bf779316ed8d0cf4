"""The decoder finds the same row as a search of the whole table, for every short word and many long ones."""

from __future__ import annotations

import random

import pytest

from emu.isa.decode import IllegalInstruction, decode, decode_all, find_row
from emu.isa.table import LENGTH_OF_NIBBLE, Row, rows


def search(word: int, length: int) -> Row | None:
    found = [row for row in rows() if row.length == length and word & row.mask == row.match]
    assert len(found) <= 1
    return found[0] if found else None


def test_every_word_of_two_bytes() -> None:
    words = [word for word in range(1 << 16) if LENGTH_OF_NIBBLE[word & 15] == 2]
    own = [row for row in rows() if row.length == 2]
    expected = {}
    for row in own:
        for word in words:
            if word & row.mask == row.match:
                expected[word] = row
    assert [find_row(word, 2) for word in words] == [expected.get(word) for word in words]


@pytest.mark.parametrize("length", [3, 4])
def test_random_words(length: int) -> None:
    rng = random.Random(length)
    nibbles = [nibble for nibble in range(16) if LENGTH_OF_NIBBLE[nibble] == length]
    for _ in range(5000):
        word = rng.getrandbits(8 * length) & ~15 | rng.choice(nibbles)
        assert find_row(word, length) is search(word, length)


@pytest.mark.parametrize("row", rows(), ids=lambda row: row.key)
def test_neighbours_of_each_row(row: Row) -> None:
    """Words that differ from a legal one in a single fixed bit are where a decision tree goes wrong."""
    rng = random.Random(row.index)
    for bit in range(8 * row.length):
        word = (row.match | rng.getrandbits(8 * row.length) & ~row.mask) ^ 1 << bit
        if LENGTH_OF_NIBBLE[word & 15] == row.length:
            assert find_row(word, row.length) is search(word, row.length)


@pytest.mark.long
def test_every_word_of_three_bytes() -> None:
    illegal = sum(find_row(word, 3) is None for word in range(1 << 24) if word & 15 < 8)
    assert illegal == 1_993_703


def test_illegal_bytes_name_the_place() -> None:
    with pytest.raises(IllegalInstruction, match=r"illegal instruction at 0x40370010: d3 ff ff") as caught:
        decode(bytes.fromhex("d3ffff00"), 0x40370010)
    assert (caught.value.pc, caught.value.data) == (0x40370010, bytes.fromhex("d3ffff"))


@pytest.mark.parametrize("data", [b"", b"\x36", b"\x36\x41", b"\x3d", b"\x0e\x00\x00"])
def test_bytes_that_end_too_early(data: bytes) -> None:
    with pytest.raises(IllegalInstruction):
        decode(data, 0x40370000)


def test_any_buffer_will_do() -> None:
    data = bytes.fromhex("364100")
    for buffer in (data, bytearray(data), memoryview(data)):
        insn = decode(buffer, 0)
        assert (insn.mnemonic, insn.operands) == ("entry", {"s": 1, "imm": 32})


def test_implicit_operands_are_there() -> None:
    assert decode(bytes.fromhex("e00200"), 0).operands == {"s": 2, "imm": 8}
    assert decode(bytes.fromhex("0df3"), 0).operands == {"s": 3}
    assert decode(bytes.fromhex("1df3"), 0).operands == {"s": 3}


def test_decode_all_walks_and_stops_at_nonsense() -> None:
    code = bytes.fromhex("364100 0df0 d3ffff".replace(" ", ""))
    walk = decode_all(code, 0x100)
    assert [(next(walk).pc), (next(walk).pc)] == [0x100, 0x103]
    with pytest.raises(IllegalInstruction, match="0x00000105"):
        next(walk)
