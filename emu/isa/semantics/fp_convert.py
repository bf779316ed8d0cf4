"""Between integers and floats (ISA manual, Floating-Point Coprocessor Option), with a binary scale of 0..15.

Measured on chips (see fp_nan): NaN gives 0x7FFFFFFF, in utrunc.s 0xFFFFFFFF; round.s ties to even; utrunc.s
of a negative number gives what trunc.s gives (the manual of 2010 says 0x80000000), and is invalid unless
that is 0. QEMU agrees.
"""

from __future__ import annotations

from emu.cpu.machine import Machine, Operands
from emu.cpu.values import Bits
from emu.isa.semantics.fp_flags import raise_flags
from emu.isa.semantics.fp_nan import is_nan, rounding
from emu.isa.semantics.registry import semantics


def _power(m: Machine, exponent: int) -> Bits:
    """2**exponent as binary64."""
    return m.const(64, (1023 + exponent) << 52)


@semantics("trunc.s", how="zero")
@semantics("floor.s", how="down")
@semantics("ceil.s", how="up")
@semantics("round.s", how="even")
def to_signed(m: Machine, o: Operands, how: str) -> None:
    """``ar = fs * 2**imm`` rounded as the name says, saturated to 32 bits signed."""
    value, whole = _scaled(m, o, how)
    nan = is_nan(value)
    if m.track_fsr:
        # 2**31 is the first value too large, -2**31 the last one not too small.
        out = nan | ~whole.flt(_power(m, 31)) | whole.flt(_power(m, 31) | 1 << 63)
        raise_flags(m, Invalid=out, Inexact=~out & ~whole.feq(value))
    o.r = nan.select(m.const(32, 0x7FFFFFFF), whole.f_to_s(32))


@semantics("utrunc.s")
def to_unsigned(m: Machine, o: Operands) -> None:
    """``ar = fs * 2**imm`` toward zero, saturated at 2**32 - 1; negative values as in trunc.s."""
    value, whole = _scaled(m, o, "zero")
    nan = is_nan(value)
    negative = whole.flt(m.const(64, 0))
    if m.track_fsr:
        out = nan | negative | ~whole.flt(_power(m, 32))
        raise_flags(m, Invalid=out, Inexact=~out & ~whole.feq(value))
    number = negative.select(whole.f_to_s(32), whole.f_to_u(32))
    o.r = nan.select(m.const(32, 0xFFFFFFFF), number)


def _scaled(m: Machine, o: Operands, how: str) -> tuple[Bits, Bits]:
    """``fs * 2**imm``, exact as binary64, and the integral value it is rounded to."""
    value = o.fs.f_resize(64).fmul(_power(m, o.index("imm")))
    return value, value.fround(how)


@semantics("float.s", signed=True)
@semantics("ufloat.s", signed=False)
def to_float(m: Machine, o: Operands, signed: bool) -> None:
    """``fr = as * 2**-imm``, one rounding in the mode of FCR; 0 gives +0."""
    mode = rounding(m)
    number = o.s
    result = number.s_to_f(32, mode) if signed else number.u_to_f(32, mode)
    if m.track_fsr:
        exact = number.s_to_f(64) if signed else number.u_to_f(64)
        raise_flags(m, Inexact=~exact.feq(result.f_resize(64)))
    o.fr = result.fmul(m.const(32, (127 - o.index("imm")) << 23))
