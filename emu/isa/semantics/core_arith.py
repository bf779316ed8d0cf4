"""Integer arithmetic, logic, shifts, multiplication and division (ISA manual, groups Core, Density, MUL32, DIV32, MISC)."""

from __future__ import annotations

from collections.abc import Callable

from emu.cpu.machine import Cause, Machine, Operands
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


# --- shifts -------------------------------------------------------------------------------------
# SAR holds 0..63. A left shift by n is stored as 32 - n, so every shift is one funnel shift right of 64 bits.
@semantics("ssr")
def set_shift_right(m: Machine, o: Operands) -> None:
    """``SAR = as & 31``."""
    m.SAR = o.s.bits(4, 0).zext(6)


@semantics("ssai")
def set_shift_immediate(m: Machine, o: Operands) -> None:
    """``SAR = sa``, 0..31."""
    m.SAR = m.const(6, o.index("sa"))


@semantics("ssl")
def set_shift_left(m: Machine, o: Operands) -> None:
    """``SAR = 32 - (as & 31)``, so 1..32."""
    m.SAR = m.const(6, 32) - o.s.bits(4, 0).zext(6)


@semantics("ssa8l")
def set_shift_bytes_little(m: Machine, o: Operands) -> None:
    """``SAR = 8 * (as & 3)``: realigning little-endian data with ``src``."""
    m.SAR = o.s.bits(1, 0).zext(6).shl(3)


@semantics("ssa8b")
def set_shift_bytes_big(m: Machine, o: Operands) -> None:
    """``SAR = 32 - 8 * (as & 3)``."""
    m.SAR = m.const(6, 32) - o.s.bits(1, 0).zext(6).shl(3)


def _funnel(high: Bits, low: Bits, amount: Bits) -> Bits:
    return high.cat(low).lshr(amount).trunc(32)


@semantics("src")
def shift_right_combined(m: Machine, o: Operands) -> None:
    """Low half of ``(as : at) >> SAR``."""
    o.r = _funnel(o.s, o.t, m.SAR)


@semantics("srl")
def shift_right_logical(m: Machine, o: Operands) -> None:
    """``at >> SAR``, zeros from 32 on."""
    o.r = o.t.lshr(m.SAR)


@semantics("sra")
def shift_right_arithmetic(m: Machine, o: Operands) -> None:
    """``at >> SAR`` with the sign, all sign from 32 on."""
    o.r = o.t.ashr(m.SAR)


@semantics("sll")
def shift_left(m: Machine, o: Operands) -> None:
    """Low half of ``(as : 0) >> SAR``: a left shift by 32 - SAR, a right shift by SAR - 32 beyond 32."""
    o.r = _funnel(o.s, m.const(32, 0), m.SAR)


@semantics("slli")
def shift_left_immediate(m: Machine, o: Operands) -> None:
    """``as << sa``, sa 1..32 (32, which only the encoding 0 gives, leaves 0)."""
    o.r = o.s.shl(o.index("sa"))


@semantics("srli")
def shift_right_logical_immediate(m: Machine, o: Operands) -> None:
    """``at >> level``, 0..15."""
    o.r = o.t.lshr(o.index("level"))


@semantics("srai")
def shift_right_arithmetic_immediate(m: Machine, o: Operands) -> None:
    """``at >> sa`` with the sign, 0..31."""
    o.r = o.t.ashr(o.index("sa"))


@semantics("extui")
def extract(m: Machine, o: Operands) -> None:
    """``(at >> sh)`` cut to ``len`` bits; bits beyond 31 read 0."""
    o.r = o.t.lshr(o.index("sh")) & ((1 << o.index("len")) - 1)


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


# --- multiplication and division ------------------------------------------------------------------
@semantics("mull")
def multiply_low(m: Machine, o: Operands) -> None:
    """Low 32 bits of ``as * at``."""
    o.r = o.s * o.t


@semantics("muluh", wide=lambda x: x.zext(64))
@semantics("mulsh", wide=lambda x: x.sext(64))
def multiply_high(m: Machine, o: Operands, wide: Callable[[Bits], Bits]) -> None:
    """High 32 bits of the 64-bit product."""
    o.r = (wide(o.s) * wide(o.t)).bits(63, 32)


@semantics("mul16u", wide=lambda x: x.zext(32))
@semantics("mul16s", wide=lambda x: x.sext(32))
def multiply_16(m: Machine, o: Operands, wide: Callable[[Bits], Bits]) -> None:
    """Product of the low halves, 32 bits."""
    o.r = wide(o.s.trunc(16)) * wide(o.t.trunc(16))


@semantics("quou", divide=lambda s, t: s.udiv(t))
@semantics("quos", divide=lambda s, t: s.sdiv(t))
@semantics("remu", divide=lambda s, t: s.urem(t))
@semantics("rems", divide=lambda s, t: s.srem(t))
def divide(m: Machine, o: Operands, divide: Callable[[Bits, Bits], Bits]) -> None:
    """Quotient toward 0, remainder with the dividend's sign; exception on a zero divisor.

    0x80000000 / -1: the manual says that overflow is not detected; quotient 0x80000000, remainder 0 (as QEMU).
    """
    m.raise_if(o.t.eq(0), Cause.INTEGER_DIVIDE_BY_ZERO)
    o.r = divide(o.s, o.t)
