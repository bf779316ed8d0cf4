"""Random instructions and words for the tests of the instruction table."""

from __future__ import annotations

import random
from collections.abc import Iterator

from emu.isa.operand import OperandKind
from emu.isa.table import LENGTH_OF_NIBBLE, Row, rows


def at(row: Row, raw: dict[str, int], pc: int) -> dict[str, int]:
    """Values as `encode` takes them from `raw` ones, in which labels are distances from their base."""
    kinds = {operand.name: operand.kind for operand in row.operands}
    return {
        name: (kinds[name].base(pc) + value) & 0xFFFFFFFF if kinds[name].cls == "label" else value
        for name, value in raw.items()
    }


def random_raw(row: Row, rng: random.Random) -> dict[str, int]:
    """Any encodable value for each written operand; one in four is an end of its range."""
    return {operand.name: _pick(operand.kind, rng) for operand in row.operands}


def _pick(kind: OperandKind, rng: random.Random) -> int:
    if rng.random() < 0.25:
        return rng.choice((kind.min, kind.max))
    return kind.value(rng.randrange(1 << kind.width))


def end_raws(row: Row) -> Iterator[dict[str, int]]:
    """Each operand at its greatest value with the others at their least, all least, and all greatest."""
    lowest = {operand.name: operand.kind.min for operand in row.operands}
    yield lowest
    for operand in row.operands:
        yield lowest | {operand.name: operand.kind.max}
    yield {operand.name: operand.kind.max for operand in row.operands}


def random_blob(count: int, seed: int) -> bytes:
    """`count` words, half uniform, half legal ones with 0..2 flipped bits, each cut to its length."""
    rng = random.Random(seed)
    words = (rng.getrandbits(32) if rng.random() < 0.5 else _near_legal(rng) for _ in range(count))
    return b"".join(word.to_bytes(4, "little")[: LENGTH_OF_NIBBLE[word & 15]] for word in words)


def _near_legal(rng: random.Random) -> int:
    row = rng.choice(rows())
    size = 8 * row.length
    word = row.match | rng.getrandbits(size) & ~row.mask
    for _ in range(rng.randrange(3)):
        word ^= 1 << rng.randrange(size)
    return word | rng.getrandbits(32) << size & 0xFFFFFFFF
