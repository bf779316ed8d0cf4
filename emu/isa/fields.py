"""Fast field access: one small function per operand kind, made once from the bit list."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from emu.isa.table import OperandKind


def runs(kind: OperandKind) -> list[tuple[int, int, int]]:
    """The field as runs of neighbouring bits: (instruction bit, field bit, width)."""
    result: list[tuple[int, int, int]] = []
    for place, bit in enumerate(kind.bits):
        if result and result[-1][0] + result[-1][2] == bit:
            start, low, width = result[-1]
            result[-1] = (start, low, width + 1)
        else:
            result.append((bit, place, 1))
    return result


@cache
def value_reader(kind: OperandKind) -> Callable[[int, int], int]:
    """Function (word, pc) to the operand's value: register number, immediate, or absolute label address."""
    parts = [f"(w >> {bit} & {(1 << width) - 1}) << {place}" for bit, place, width in runs(kind)]
    text = f"rule[{' | '.join(parts) or '0'}]" if kind.width <= 8 else _wide_rule(kind, " | ".join(parts))
    base = {"pc": "pc", "pc&~3": "(pc & ~3)", "(pc+3)&~3": "(pc + 3 & ~3)"}.get(kind.pcbase)
    body = f"({base} + {text}) & 0xffffffff" if base else text
    names: dict[str, object] = {"rule": tuple(kind.values())} if kind.width <= 8 else {}
    reader: Callable[[int, int], int] = eval(f"lambda w, pc: {body}", names)
    return reader


def _wide_rule(kind: OperandKind, field: str) -> str:
    size = kind.mask_of_field
    return f"({kind.scale} * (((({field}) + {kind.wrap}) & {size}) - {kind.wrap}) + {kind.offset})"
