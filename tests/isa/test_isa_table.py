"""The table itself: disjoint rows, operands that fit, counts of illegal words."""

from __future__ import annotations

from itertools import combinations

import pytest

from emu.isa.operand import OperandKind
from emu.isa.table import LENGTH_OF_NIBBLE, Row, by_key, kinds, read_csv, rows

ALL_ROWS = pytest.mark.parametrize("row", rows(), ids=lambda row: row.key)
ALL_KINDS = pytest.mark.parametrize("kind", kinds().values(), ids=lambda kind: kind.name)


def test_counts() -> None:
    assert (len(rows()), len(by_key()), len({row.mnemonic for row in rows()}), len(kinds())) == (
        754,
        754,
        753,
        97,
    )
    assert sum(row.group == "pie" for row in rows()) == 220


def test_no_word_belongs_to_two_rows() -> None:
    pairs = combinations(rows(), 2)
    clash = [
        (a.key, b.key) for a, b in pairs if a.length == b.length and not (a.match ^ b.match) & a.mask & b.mask
    ]
    assert clash == []


@pytest.mark.parametrize(("length", "words", "illegal"), [(3, 2**23, 1_993_703), (4, 2**29, 52_527_103)])
def test_number_of_illegal_words(length: int, words: int, illegal: int) -> None:
    legal = sum(1 << 8 * length - row.mask.bit_count() for row in rows() if row.length == length)
    assert words - legal == illegal


def test_number_of_illegal_words_of_two_bytes() -> None:
    for nibbles, words, illegal in ((range(8, 12), 16_384, 0), (range(12, 14), 8_192, 3_790)):
        own = [row for row in rows() if row.length == 2 and row.match & 15 in nibbles]
        assert words - sum(1 << 16 - row.mask.bit_count() for row in own) == illegal


@ALL_ROWS
def test_row_is_consistent(row: Row) -> None:
    assert row.match & ~row.mask == 0
    assert LENGTH_OF_NIBBLE[row.match & 15] == row.length
    taken = row.mask
    for operand in row.operands:
        assert row.length in operand.kind.lens
        assert taken & operand.kind.mask == 0, f"{operand.name} overlaps"
        taken |= operand.kind.mask
    assert taken | row.ignored == (1 << 8 * row.length) - 1
    names = [operand.name for operand in row.operands + row.implicit]
    assert len(set(names)) == len(names)


@ALL_KINDS
def test_kind_maps_every_field_to_its_own_value(kind: OperandKind) -> None:
    values = list(kind.values())
    assert [kind.field(value) for value in values] == list(range(1 << kind.width))
    assert (min(values), max(values)) == (kind.min, kind.max)
    assert all(kind.extract(kind.insert(field)) == field for field in range(1 << kind.width))


@ALL_KINDS
def test_kind_refuses_what_no_field_holds(kind: OperandKind) -> None:
    values = set(kind.values())
    around = range(kind.min - 2 * (kind.step or 1), kind.max + 2 * (kind.step or 1) + 1)
    near = around if len(around) < 5000 else [*around[:2500], *around[-2500:]]
    for value in near:
        field = kind.field(value)
        assert (field is not None) == (value in values)


def test_ignored_bits_are_the_documented_ones() -> None:
    ignored = {row.mnemonic: row.ignored for row in rows() if row.ignored}
    returns = dict.fromkeys(("ret", "ret.n", "retw", "retw.n", "rfdd"), 0xF00)
    groups = {"all4": 0x300, "any4": 0x300, "all8": 0x700, "any8": 0x700}
    # all4/any4 and all8/any8: bits below the number of the group of booleans
    assert ignored == returns | groups


def test_lengths_agree_with_the_core_settings() -> None:
    settings = {line["name"]: line["value"] for line in read_csv("core-config.csv")}
    assert [int(settings[f"OP0_LENGTH_{nibble:X}"]) for nibble in range(16)] == list(LENGTH_OF_NIBBLE)


def test_operand_by_name_says_what_is_missing() -> None:
    row = by_key()["addi"]
    assert row.operand("imm").kind.max == 127
    with pytest.raises(KeyError, match="addi has no operand 'q'"):
        row.operand("q")
