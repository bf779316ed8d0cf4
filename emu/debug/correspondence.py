"""When values, addresses and instructions of two images are the same thing in different places."""

from __future__ import annotations

from collections.abc import Hashable
from functools import lru_cache

from emu.cpu.engine import Engine
from emu.image import Image
from emu.isa.decode import Insn

_CODE_REGION = 0x40000000
"""Top two bits of code addresses; a windowed return address has the size of the call in their place."""


class Correspondence:
    """Compares values of two engines: equal numbers are the same, and so are addresses of the same symbol and
    offset, and places at the same distance from the end of the stack.
    """

    def __init__(self, a: Engine, b: Engine) -> None:
        self._a = a
        self._b = b

    def same(self, a: int, b: int) -> bool:
        """True for equal values and for two names of one thing."""
        if a == b:
            return True
        left = place_of(self._a, a)
        return left is not None and left == place_of(self._b, b)

    def same_stream(self, a: Insn, b: Insn) -> bool:
        """True when two instructions are the same but for where things are.

        Literals are not compared here: what l32r loads is compared as its effect.
        """
        if a.mnemonic != b.mnemonic:
            return False
        for operand in a.row.operands:
            left, right = a.operands[operand.name], b.operands[operand.name]
            if operand.kind.cls != "label":
                if left != right:
                    return False
            elif a.mnemonic != "l32r" and not self.same(left, right):
                return False
        return True


def place_of(engine: Engine, value: int) -> Hashable | None:
    """What an address means, independent of where the image has it; None for a plain number."""
    if engine.stack.start <= value < engine.stack.end:
        return ("stack", engine.stack.end - value)
    named = _named(engine.image, value)
    if named is not None:
        return named
    step = value >> 30
    if step:
        target = _named(engine.image, value & 0x3FFFFFFF | _CODE_REGION)
        if target is not None:
            return (step, *target)
    return None


@lru_cache(maxsize=1 << 14)
def _named(image: Image, address: int) -> tuple[str, int] | None:
    segment = image.segment_at(address)
    symbol = image.symbols.at(address) if segment is not None else None
    if symbol is None or image.segment_at(symbol.address) is not segment:
        return None
    return symbol.name, address - symbol.address
