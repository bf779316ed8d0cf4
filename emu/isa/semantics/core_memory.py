"""Scalar loads and stores, atomics, memory ordering (ISA manual, Core, Multiprocessor Synchronization,
Conditional Store).

The chip's load/store unit takes any alignment; an address that is not mapped is the engine's business.
"""

from __future__ import annotations

from emu.cpu.machine import Machine, Operands
from emu.cpu.values import Bits
from emu.isa.semantics.registry import semantics


def _address(o: Operands) -> Bits:
    return o.s + o.imm


@semantics("l8ui", bits=8)
@semantics("l16ui", bits=16)
@semantics("l32i", "l32i.n", "l32ai", "l32e", bits=32)
def load_unsigned(m: Machine, o: Operands, bits: int) -> None:
    """``at = mem[as + imm]``, zero-extended. l32ai's ordering is free on a machine that keeps program order;
    l32e's ring is always 0 on a core without rings."""
    o.t = m.load(bits, _address(o)).zext(32)


@semantics("l16si")
def load_signed(m: Machine, o: Operands) -> None:
    """``at = mem16[as + imm]``, sign-extended."""
    o.t = m.load(16, _address(o)).sext(32)


@semantics("l32r")
def load_literal(m: Machine, o: Operands) -> None:
    """``at = mem32[literal]``; the operand is the literal's address."""
    o.t = m.load(32, o.literal)


@semantics("s8i", bits=8)
@semantics("s16i", bits=16)
@semantics("s32i", "s32i.n", "s32ri", "s32nb", "s32e", bits=32)
def store(m: Machine, o: Operands, bits: int) -> None:
    """``mem[as + imm] = at``. s32nb only lets the store be buffered; s32ri only orders it behind older
    ones.
    """
    m.store(bits, _address(o), o.t.trunc(bits))


@semantics("s32c1i")
def compare_and_store(m: Machine, o: Operands) -> None:
    """Store ``at`` if memory equals SCOMPARE1; ``at`` becomes what memory held in either case.

    ATOMCTL is not looked at: internal RAM takes the instruction in all of its settings that software uses.
    The unconditional write of an unchanged word is not visible to the single-threaded engine.
    """
    address = _address(o)
    found = m.load(32, address)
    m.store(32, address, found.eq(m.SCOMPARE1).select(o.t, found))
    o.t = found


@semantics("memw", "extw", "isync", "dsync", "esync", "rsync", "excw")
def order(m: Machine, o: Operands) -> None:
    """Nothing to wait for: every effect here is complete before the next instruction starts."""
