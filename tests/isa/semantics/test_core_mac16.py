"""MAC16: all 70 forms against plain integers, at the ends of the halves and of the accumulator."""

from __future__ import annotations

import re

import pytest
from instruction_driver import DATA, check

from emu.isa.table import rows

FORMS = [row for row in rows() if row.group == "mac16" and row.mnemonic != "mul.s"]
HALVES = (0x0000, 0x0001, 0x7FFF, 0x8000, 0xFFFF, 0x1234)
MASK = (1 << 40) - 1
ACCS = (0, MASK, 1 << 39, (1 << 39) - 1, 0x123456789A)


def _signed(half: int) -> int:
    return half - 0x10000 if half & 0x8000 else half


def _product(mnemonic: str, x: int, y: int) -> int:
    """x and y are words; the letters behind the second dot name the halves."""
    halves = re.search(r"\.([lh])([lh])", mnemonic)
    pair = [
        word >> 16 if which == "h" else word & 0xFFFF
        for word, which in zip((x, y), halves.groups(), strict=True)
    ]
    return pair[0] * pair[1] if mnemonic.startswith("umul") else _signed(pair[0]) * _signed(pair[1])


def _result(mnemonic: str, acc: int, product: int) -> int:
    start = acc if mnemonic.startswith(("mula", "muls")) else 0
    return (start - product if mnemonic.startswith("muls") else start + product) & MASK


def _text(row, mw: int = 1) -> tuple[str, str, str]:
    """Assembler text, and the registers of both factors."""
    names = {"s": "a5", "t": "a6", "mx": "m1", "my": "m2", "mw": f"m{mw}"}
    text = ", ".join(names[operand.name] for operand in row.operands)
    factors = [names[o.name] for o in row.operands if o.name in ("mx", "my", "t")]
    loads = ".ld" in row.mnemonic
    first = names["mx"] if any(o.name == "mx" for o in row.operands) else names["s"]
    second = factors[-1] if loads or len(factors) > 1 or first == "a5" else factors[0]
    return f"{row.mnemonic} {text}", first, second


ARITHMETIC = [row for row in FORMS if "." in row.mnemonic]


@pytest.mark.parametrize("row", [r for r in ARITHMETIC if ".ld" not in r.mnemonic], ids=lambda r: r.mnemonic)
def test_multiply(row):
    text, first, second = _text(row)
    for i, x in enumerate(HALVES):
        for j, y in enumerate(HALVES):
            acc = ACCS[(i + j) % len(ACCS)]
            words = x << 16 | HALVES[-1 - i], y << 16 | HALVES[-1 - j]
            given = {first: words[0], second: words[1], "ACC": acc}
            product = _product(row.mnemonic, *words)
            check(text, given, {"ACC": _result(row.mnemonic, acc, product)})


@pytest.mark.parametrize("row", [r for r in ARITHMETIC if ".ld" in r.mnemonic], ids=lambda r: r.mnemonic)
@pytest.mark.parametrize("mw", [0, 1, 2, 3])
def test_multiply_and_load(row, mw):
    """The loaded register may be a factor: the old value is multiplied."""
    text, first, second = _text(row, mw)
    step = 4 if row.mnemonic.endswith("inc") else -4
    words, acc = (0x80017FFF, 0x7FFE8003), 0x7FFFFFFFFF
    address = DATA + 0x43
    given = {first: words[0], second: words[1], "ACC": acc, "a5": address}
    given |= {f"[{address + step:#x}]": 0xCAFE1234}
    expected = {"ACC": _result(row.mnemonic, acc, _product(row.mnemonic, *words))}
    check(text, given, expected | {f"m{mw}": 0xCAFE1234, "a5": address + step})


@pytest.mark.parametrize("value", HALVES)
def test_square_of_one_register(value):
    word = value << 16 | value
    check("mul.aa.hl a5, a5", {"a5": word}, {"ACC": _signed(value) ** 2 & MASK})


LOADS = [("ldinc", 4), ("lddec", -4)]


@pytest.mark.parametrize(("name", "step"), LOADS)
@pytest.mark.parametrize("mw", [0, 3])
def test_load(name, step, mw):
    given = {"a5": DATA + 0x41, f"[{DATA + 0x41 + step:#x}]": 0x87654321}
    check(f"{name} m{mw}, a5", given, {f"m{mw}": 0x87654321, "a5": DATA + 0x41 + step})


def test_number_of_forms():
    assert len(FORMS) == 70
