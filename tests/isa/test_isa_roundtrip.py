"""Encode and decode undo each other for every row, at every end of every operand, at odd addresses."""

from __future__ import annotations

import random

import pytest
from isa_samples import at, end_raws, random_raw

from emu.isa.decode import decode
from emu.isa.encode import OperandError, assemble_one, encode, encode_word
from emu.isa.table import Row, by_key, rows

PCS = (0x40370000, 0x40370001, 0x40370002, 0x40370003, 0, 0xFFFFFFFD)
ALL_ROWS = pytest.mark.parametrize("row", rows(), ids=lambda row: row.key)


@ALL_ROWS
def test_encode_then_decode(row: Row) -> None:
    rng = random.Random(row.index)
    for pc in PCS:
        for raw in [*end_raws(row), *(random_raw(row, rng) for _ in range(20))]:
            values = at(row, raw, pc)
            word = encode_word(row, values, pc)
            assert word & row.mask == row.match
            insn = decode(encode(row, values, pc) + b"\xff\xff", pc)
            assert insn.row is row
            assert {name: insn.operands[name] for name in values} == values
            assert (insn.word, insn.length, insn.next_pc) == (
                word,
                row.length,
                (pc + row.length) & 0xFFFFFFFF,
            )


@ALL_ROWS
def test_decode_then_encode_keeps_all_but_ignored_bits(row: Row) -> None:
    rng = random.Random(row.index)
    kept = ~row.ignored
    for operand in row.implicit:
        kept |= operand.kind.mask
    for _ in range(50):
        word = row.match | rng.getrandbits(8 * row.length) & ~row.mask
        insn = decode(word.to_bytes(row.length, "little"), 0x42000001)
        assert insn.row is row
        assert encode_word(row, insn.operands, insn.pc) == word & kept


@ALL_ROWS
def test_values_outside_are_refused(row: Row) -> None:
    pc = 0x40370000
    lowest = next(end_raws(row))
    for operand in row.operands:
        kind = operand.kind
        for value in (kind.min - (kind.step or 1), kind.max + (kind.step or 1)):
            with pytest.raises(OperandError, match=f"operand {operand.name} is not"):
                encode(row, at(row, lowest | {operand.name: value}, pc), pc)


def test_values_between_the_steps_are_refused() -> None:
    with pytest.raises(OperandError, match="in steps of 4"):
        assemble_one("l32i", 2, 3, 6)
    with pytest.raises(OperandError, match="distance -3"):
        assemble_one("l32r", 2, 0x40000000 - 3, pc=0x40000000)


def test_b4const_is_a_list_of_values() -> None:
    assert decode(assemble_one("beqi", 2, 256, 0x40000010, pc=0x40000000), 0x40000000).operands["imm"] == 256
    with pytest.raises(OperandError, match="one of"):
        assemble_one("beqi", 2, 9, 0x40000010, pc=0x40000000)


def test_wrong_use_is_explained() -> None:
    row = by_key()["add"]
    with pytest.raises(OperandError, match="operand t is missing"):
        encode(row, {"r": 1, "s": 2})
    with pytest.raises(OperandError, match="no operand x"):
        encode(row, {"r": 1, "s": 2, "t": 3, "x": 4})
    with pytest.raises(OperandError, match="no instruction is called 'frobnicate'"):
        assemble_one("frobnicate")
    with pytest.raises(OperandError, match="has 3 operands, not 1"):
        assemble_one("add", 1)


def test_labels_wrap_around_the_address_space() -> None:
    near_top = 0xFFFFFFF8
    insn = decode(assemble_one("j", 0x10, pc=near_top), near_top)
    assert insn.operands["target"] == 0x10
    insn = decode(assemble_one("l32r", 2, 0xFFFFFFFC, pc=0), 0)
    assert insn.operands["literal"] == 0xFFFFFFFC
