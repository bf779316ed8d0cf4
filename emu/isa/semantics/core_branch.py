"""Jumps, branches, zero-overhead loops, calls without window (ISA manual, Core, Loop Option)."""

from __future__ import annotations

from collections.abc import Callable

from emu.cpu.machine import Machine, Operands
from emu.cpu.values import Bits
from emu.isa.semantics.registry import semantics


@semantics("beqz", "beqz.n", test=lambda s: s.eq(0))
@semantics("bnez", "bnez.n", test=lambda s: s.ne(0))
@semantics("bltz", test=lambda s: s.slt(0))
@semantics("bgez", test=lambda s: s.sge(0))
def branch_zero(m: Machine, o: Operands, test: Callable[[Bits], Bits]) -> None:
    """Compare ``as`` with 0."""
    m.branch(test(o.s), o.target)


@semantics("beqi", test=lambda s, i: s.eq(i))
@semantics("bnei", test=lambda s, i: s.ne(i))
@semantics("blti", test=lambda s, i: s.slt(i))
@semantics("bgei", test=lambda s, i: s.sge(i))
@semantics("bltui", test=lambda s, i: s.ult(i))
@semantics("bgeui", test=lambda s, i: s.uge(i))
def branch_immediate(m: Machine, o: Operands, test: Callable[[Bits, Bits], Bits]) -> None:
    """Compare ``as`` with a constant of the table."""
    m.branch(test(o.s, o.imm), o.target)


@semantics("beq", test=lambda s, t: s.eq(t))
@semantics("bne", test=lambda s, t: s.ne(t))
@semantics("blt", test=lambda s, t: s.slt(t))
@semantics("bge", test=lambda s, t: s.sge(t))
@semantics("bltu", test=lambda s, t: s.ult(t))
@semantics("bgeu", test=lambda s, t: s.uge(t))
@semantics("bany", test=lambda s, t: (s & t).ne(0))
@semantics("bnone", test=lambda s, t: (s & t).eq(0))
@semantics("ball", test=lambda s, t: (~s & t).eq(0))
@semantics("bnall", test=lambda s, t: (~s & t).ne(0))
@semantics("bbs", test=lambda s, t: s.lshr(t & 31).trunc(1))
@semantics("bbc", test=lambda s, t: ~s.lshr(t & 31).trunc(1))
def branch_registers(m: Machine, o: Operands, test: Callable[[Bits, Bits], Bits]) -> None:
    """Compare ``as`` with ``at``; bbs and bbc look at bit ``at & 31``, bit 0 being the lowest."""
    m.branch(test(o.s, o.t), o.target)


@semantics("bbsi", wanted=1)
@semantics("bbci", wanted=0)
def branch_bit(m: Machine, o: Operands, wanted: int) -> None:
    """Bit ``bit`` of ``as``, bit 0 being the lowest."""
    bit = o.index("bit")
    m.branch(o.s.bits(bit, bit).eq(wanted), o.target)


@semantics("j")
def jump(m: Machine, o: Operands) -> None:
    """Go to the target."""
    m.jump(o.target)


@semantics("jx")
def jump_register(m: Machine, o: Operands) -> None:
    """Go to ``as``."""
    m.jump(o.s)


@semantics("call0")
def call(m: Machine, o: Operands) -> None:
    """a0 (the implicit operand) becomes the return address; PS.CALLINC is left alone."""
    o.imm = m.next_pc
    m.jump(o.target)


@semantics("callx0")
def call_register(m: Machine, o: Operands) -> None:
    """As call0, to the address in ``as`` (read before a0 is written)."""
    o.imm = m.next_pc
    m.jump(o.s)


@semantics("ret", "ret.n")
def ret(m: Machine, o: Operands) -> None:
    """Go to a0."""
    m.jump(m.read_ar(m.WindowBase, 0))


@semantics("loop", enter=lambda m, s: m.const(1, 1))
@semantics("loopnez", enter=lambda m, s: s.ne(0))
@semantics("loopgtz", enter=lambda m, s: m.const(32, 0).slt(s))
def loop(m: Machine, o: Operands, enter: Callable[[Machine, Bits], Bits]) -> None:
    """LBEG = the next instruction, LEND = the target, LCOUNT = as - 1; skip to LEND if not entered.

    Plain ``loop`` with as = 0 enters with LCOUNT = 0xFFFFFFFF. The three registers are written even when the
    loop is skipped, as in the manual. Going back at LEND is the engine's part.
    """
    m.LBEG = m.next_pc
    m.LEND = o.target
    m.LCOUNT = o.s - 1
    m.branch(~enter(m, o.s), o.target)
