"""Shifts (ISA manual, Core): all of them go by SAR, 0..63, or by a constant.

A left shift by n is stored as 32 - n, so that every shift is one funnel shift right of 64 bits.
"""

from __future__ import annotations

from emu.cpu.machine import Machine, Operands
from emu.cpu.values import Bits
from emu.isa.semantics.registry import semantics


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
