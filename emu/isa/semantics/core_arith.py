"""Integer sums, logic, moves, comparisons (ISA manual, Core, Density and Miscellaneous options)."""

from __future__ import annotations

from collections.abc import Callable

from emu.cpu.machine import Machine, Operands
from emu.cpu.values import Bits
from emu.isa.semantics.registry import semantics


# --- adding -------------------------------------------------------------------------------------
@semantics("add", "add.n")
def add(m: Machine, o: Operands) -> None:
    """``add ar, as, at``."""
    o.r = o.s + o.t


@semantics("addi", "addmi")
def add_immediate(m: Machine, o: Operands) -> None:
    """The operand is decoded to its value (addmi: times 256), so both are plain sums."""
    o.t = o.s + o.imm


@semantics("addi.n")
def add_immediate_narrow(m: Machine, o: Operands) -> None:
    """``addi.n ar, as, imm``: imm is -1 or 1..15."""
    o.r = o.s + o.imm


@semantics("addx2", shift=1)
@semantics("addx4", shift=2)
@semantics("addx8", shift=3)
def add_scaled(m: Machine, o: Operands, shift: int) -> None:
    """``ar = (as << shift) + at``."""
    o.r = o.s.shl(shift) + o.t


@semantics("sub", shift=0)
@semantics("subx2", shift=1)
@semantics("subx4", shift=2)
@semantics("subx8", shift=3)
def subtract(m: Machine, o: Operands, shift: int) -> None:
    """``ar = (as << shift) - at``."""
    o.r = o.s.shl(shift) - o.t


@semantics("neg")
def negate(m: Machine, o: Operands) -> None:
    """``ar = 0 - at``."""
    o.r = -o.t


@semantics("abs")
def absolute(m: Machine, o: Operands) -> None:
    """``ar = |at|``; the most negative number stays itself."""
    o.r = o.t.slt(0).select(-o.t, o.t)


# --- logic and moves ----------------------------------------------------------------------------
@semantics("and")
def bitwise_and(m: Machine, o: Operands) -> None:
    """``ar = as & at``."""
    o.r = o.s & o.t


@semantics("or")
def bitwise_or(m: Machine, o: Operands) -> None:
    """``ar = as | at`` (the assembler's ``mov``)."""
    o.r = o.s | o.t


@semantics("xor")
def bitwise_xor(m: Machine, o: Operands) -> None:
    """``ar = as ^ at``."""
    o.r = o.s ^ o.t


@semantics("movi")
def move_immediate(m: Machine, o: Operands) -> None:
    """``at = imm``, -2048..2047."""
    o.t = o.imm


@semantics("movi.n")
def move_immediate_narrow(m: Machine, o: Operands) -> None:
    """``as = imm``, -32..95."""
    o.s = o.imm


@semantics("mov.n")
def move_narrow(m: Machine, o: Operands) -> None:
    """``at = as``."""
    o.t = o.s


@semantics("nop", "nop.n")
def nothing(m: Machine, o: Operands) -> None:
    """No effect (both lengths of ``nop``)."""


@semantics("moveqz", take=lambda t: t.eq(0))
@semantics("movnez", take=lambda t: t.ne(0))
@semantics("movltz", take=lambda t: t.slt(0))
@semantics("movgez", take=lambda t: t.sge(0))
def move_if(m: Machine, o: Operands, take: Callable[[Bits], Bits]) -> None:
    """``if (at ...) ar = as``."""
    o.r = take(o.t).select(o.s, o.r)


# --- minimum, maximum, comparison, width ----------------------------------------------------------
@semantics("min", pick=lambda s, t: s.smin(t))
@semantics("max", pick=lambda s, t: s.smax(t))
@semantics("minu", pick=lambda s, t: s.umin(t))
@semantics("maxu", pick=lambda s, t: s.umax(t))
@semantics("salt", pick=lambda s, t: s.slt(t).zext(32))
@semantics("saltu", pick=lambda s, t: s.ult(t).zext(32))
def combine(m: Machine, o: Operands, pick: Callable[[Bits, Bits], Bits]) -> None:
    """``ar = pick(as, at)``; salt and saltu give 0 or 1."""
    o.r = pick(o.s, o.t)


@semantics("clamps")
def clamp(m: Machine, o: Operands) -> None:
    """``as`` clamped to -2**n .. 2**n - 1, n = 7..22."""
    o.r = o.s.clamp_s(o.index("n") + 1)


@semantics("sext")
def sign_extend(m: Machine, o: Operands) -> None:
    """Bits n..0 of ``as`` sign-extended, n = 7..22."""
    o.r = o.s.bits(o.index("n"), 0).sext(32)


@semantics("nsau")
def normalize_unsigned(m: Machine, o: Operands) -> None:
    """Leading zeros of ``as``: 0..32."""
    o.t = o.s.clz()


@semantics("nsa")
def normalize_signed(m: Machine, o: Operands) -> None:
    """Copies of the sign below the sign bit: 0..31 (31 for 0 and -1)."""
    o.t = (o.s ^ o.s.ashr(31)).clz() - 1
