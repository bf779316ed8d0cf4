"""Assembler text of decoded instructions, in the spelling of objdump."""

from __future__ import annotations

from collections.abc import Callable

from emu.isa.decode import Bytes, IllegalInstruction, Insn, decode
from emu.isa.table import REGISTER_CLASSES, Operand

HEX_FROM = 256
"""objdump writes immediates of this size and above (either sign) as 32-bit hex."""


def text(insn: Insn, label: Callable[[int], str] = hex) -> str:
    """Mnemonic, a tab and the operands; `label` writes target addresses (default: absolute hex)."""
    operands = ", ".join(
        _operand(operand, insn.operands[operand.name], label) for operand in insn.row.operands
    )
    return f"{insn.mnemonic}\t{operands}" if operands else insn.mnemonic


def listing(data: Bytes, pc: int, label: Callable[[int], str] = hex) -> list[str]:
    """One line per instruction: address, word in hex, text. A byte that starts none is shown as `.byte`."""
    lines, at = [], 0
    while at < len(data):
        where = pc + at & 0xFFFFFFFF
        try:
            insn = decode(data[at : at + 4], where)
        except IllegalInstruction:
            lines.append(f"{where:08x}:\t{data[at]:02x}\t.byte\t{data[at]:#04x}")
            at += 1
            continue
        lines.append(f"{where:08x}:\t{insn.word:0{2 * insn.length}x}\t{text(insn, label)}")
        at += insn.length
    return lines


def _operand(operand: Operand, value: int, label: Callable[[int], str]) -> str:
    kind = operand.kind
    if kind.cls == "label":
        return label(value)
    if kind.is_register:
        letter = REGISTER_CLASSES[kind.cls]
        return ":".join(f"{letter}{number}" for number in range(value, value + kind.regs))
    return str(value) if abs(value) < HEX_FROM else hex(value & 0xFFFFFFFF)
