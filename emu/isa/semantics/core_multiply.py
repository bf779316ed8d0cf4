"""Integer multiplication and division (ISA manual, 32-bit Integer Multiply, MUL16, Integer Divide)."""

from __future__ import annotations

from collections.abc import Callable

from emu.cpu.machine import Cause, Machine, Operands
from emu.cpu.values import Bits
from emu.isa.semantics.registry import semantics


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

    0x80000000 / -1: the manual says that overflow is not detected; quotient 0x80000000, remainder 0 (as
    QEMU).
    """
    m.raise_if(o.t.eq(0), Cause.INTEGER_DIVIDE_BY_ZERO)
    o.r = divide(o.s, o.t)
