"""One decoded instruction made ready for the stepper: its effect, operands, register pane, coprocessor."""

from __future__ import annotations

from typing import Any

from emu.cpu.coprocessor import coprocessor_of
from emu.cpu.interrupts import may_allow
from emu.cpu.unmodelled import DEBUG_STATES
from emu.cpu.value_int import IntBits, scalar
from emu.isa.decode import Insn
from emu.isa.semantics import effects
from emu.isa.semantics.registry import Effect
from emu.isa.table import Operand

FUSED = frozenset(("madd.s", "msub.s"))
"""Multiply-adds that compilers make by contraction; maddn.s belongs to division sequences and is not one."""


class Plan:
    """What stays the same each time the instruction at one address runs."""

    __slots__ = (
        "consts",
        "coprocessor",
        "data",
        "debug_states",
        "effect",
        "files",
        "insn",
        "is_entry",
        "is_fused",
        "is_rare",
        "is_return",
        "length",
        "literal",
        "may_allow",
        "next_pc",
        "next_value",
        "pane",
        "pc_value",
        "writes_a1",
    )

    def __init__(self, insn: Insn, data: bytes, float_pair: str) -> None:
        self.insn = insn
        self.data = data
        self.length = insn.length
        self.effect: Effect | None = effects().get(insn.mnemonic)
        self.next_pc = insn.next_pc
        self.literal: int | None = None
        """What the instruction loads, where translated code may rely on it."""
        self.pc_value = scalar(32, insn.pc)
        self.next_value = scalar(32, insn.next_pc)
        self.coprocessor = coprocessor_of(insn.row, float_pair)
        self.pane = _highest_pane(insn)
        self.is_entry = insn.mnemonic == "entry"
        self.is_fused = insn.mnemonic in FUSED
        self.may_allow = may_allow(insn.row)
        """An interrupt may have become possible behind it."""
        self.debug_states = tuple(
            use.name for use in insn.row.states if use.role != "in" and use.name in DEBUG_STATES
        )
        self.is_rare = self.may_allow or bool(self.debug_states)
        """The stepper has something to do behind it besides moving on."""
        self.is_return = insn.mnemonic in ("retw", "retw.n")
        self.consts: dict[str, IntBits] = {}
        self.files: dict[str, tuple[str, int, int]] = {}
        for operand in insn.row.operands + insn.row.implicit:
            self._add(operand, insn.operands[operand.name])
        self.writes_a1 = any(
            self.files[o.name][:2] == ("ar", 1) and o.is_written
            for o in insn.row.operands + insn.row.implicit
            if o.name in self.files
        )

    def _add(self, operand: Operand, value: int) -> None:
        kind = operand.kind
        if kind.is_register:
            self.files[operand.name] = (kind.cls, value, kind.regs)
        else:
            self.consts[operand.name] = scalar(32, value)


def _highest_pane(insn: Insn) -> int:
    """Register number / 4 of the highest address register that the instruction names (0..3).

    Fixed registers count (a8 of call8); fields that the instruction ignores do not (s of ret and retw).
    """
    row = insn.row
    named = [*row.operands, *(o for o in row.implicit if not o.kind.bits)]
    return max((insn.operands[o.name] // 4 for o in named if o.kind.cls == "ar"), default=0)


def text_of(plan: Plan, label: Any = hex) -> str:
    """The instruction as assembler text."""
    from emu.isa.disasm import text

    return text(plan.insn, label)
