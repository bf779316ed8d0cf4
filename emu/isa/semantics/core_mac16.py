"""16-bit multiply-accumulate (ISA manual, MAC16 Option): ACC of 40 bits, m0..m3.

The mnemonic says it all: operation, where the factors come from (a: address register, d: m register), which
halves, and whether a word is loaded into an m register on the side.
"""

from __future__ import annotations

import re

from emu.cpu.machine import Machine, Operands
from emu.cpu.values import Bits
from emu.isa.semantics.registry import semantics
from emu.isa.table import rows

_FORM = re.compile(
    r"(?P<op>umul|mul[as]?)\.(?P<x>[ad])(?P<y>[ad])\.(?P<hx>[lh])(?P<hy>[lh])(\.ld(?P<step>inc|dec))?"
)
_OPERANDS = ({"a": "s", "d": "mx"}, {"a": "t", "d": "my"})
_STEPS = {"inc": 4, "dec": -4}


def _half(value: Bits, which: str) -> Bits:
    return value.bits(31, 16) if which == "h" else value.bits(15, 0)


def _product(o: Operands, form: re.Match[str]) -> Bits:
    """The product of the two halves as 40 bits."""
    x = _half(o.read(_OPERANDS[0][form["x"]]), form["hx"])
    y = _half(o.read(_OPERANDS[1][form["y"]]), form["hy"])
    if form["op"] == "umul":
        return (x.zext(32) * y.zext(32)).zext(40)
    return (x.sext(32) * y.sext(32)).sext(40)


def multiply(m: Machine, o: Operands, form: re.Match[str]) -> None:
    """ACC = product (mul, umul), ACC + product (mula) or ACC - product (muls), modulo 2**40.

    With ldinc or lddec the word at as +- 4 goes to ``mw`` and as moves; the factors are those from before.
    """
    product = _product(o, form)
    if form["op"] == "mula":
        product = m.ACC + product
    elif form["op"] == "muls":
        product = m.ACC - product
    if form["step"]:
        load_with_update(m, o, form["step"])
    m.ACC = product


@semantics("ldinc", step="inc")
@semantics("lddec", step="dec")
def load_with_update(m: Machine, o: Operands, step: str) -> None:
    """``mw`` = the word at as +- 4, and as becomes that address."""
    address = o.s + _STEPS[step]
    o.mw = m.load(32, address)
    o.s = address


for _row in rows():
    if _row.group == "mac16" and (_found := _FORM.fullmatch(_row.mnemonic)):
        semantics(_row.mnemonic, form=_found)(multiply)
