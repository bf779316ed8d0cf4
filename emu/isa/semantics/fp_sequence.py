"""The building blocks of division and square root besides the estimates: exponent tricks, the final step.

No document publishes these instructions; compilers use them in fixed sequences (division: div0.s nexp01.s
maddn.s mkdadj.s addexpm.s addexp.s divn.s; root: sqrt0.s ... mksadj.s ... divn.s), whose results are
correctly rounded. What each one does alone is taken from the measurements named in fp_tables;
docs/isa-notes.md says how far they reach.

A value is prepared by scaling it into [1, 4), so that refinement never leaves the range of exponents;
mkdadj.s and mksadj.s keep the power of two that the result needs, A = 32 * upper + lower, in a word for
addexpm.s (upper) and addexp.s (lower), or a class (zero, infinity, NaN) as A = 384 + code; divn.s adds
everything up and rounds once.
"""

from __future__ import annotations

from emu.cpu.machine import Machine, Operands
from emu.cpu.values import Bits
from emu.isa.semantics.fp_estimate import normalized, sign_of
from emu.isa.semantics.fp_flags import exact_sum, raise_flags, rounding_flags, signalling
from emu.isa.semantics.fp_nan import (
    DEFAULT_NAN,
    INFINITY,
    QUIET,
    SIGN,
    is_infinite,
    is_nan,
    is_zero,
    rounding,
)
from emu.isa.semantics.registry import semantics

_ONE = 0x3F800000
_CONSTANTS = (0x00000000, 0x3F800000, 0x40000000, 0x3F000000)
_CLASS_UPPER = 223
"""What mkdadj.s and mksadj.s write into the upper field for a class: 127 + 8 * 12."""
_INFINITE, _NOT_A_NUMBER = 2, 4
"""Classes; 0 is zero, and the lowest bit of the code is the sign."""


@semantics("const.s")
def constant(m: Machine, o: Operands) -> None:
    """``fr`` = 0.0, 1.0, 2.0 or 0.5 by the two low bits of the immediate."""
    o.fr = m.const(32, _CONSTANTS[o.index("imm") & 3])


# --- scaling ----------------------------------------------------------------------------------------
@semantics("nexp01.s")
def negate_scaled(m: Machine, o: Operands) -> None:
    """-x scaled into [1, 4) by an even power of 2; zero and infinity count as 1, NaN only changes sign."""
    x = o.fs
    exponent, fraction = normalized(x)
    scaled = sign_of(x) | (-(exponent & 1) + 128).shl(23) | fraction
    scaled = (is_zero(x) | is_infinite(x)).select(sign_of(x) | _ONE, scaled)
    o.fr = is_nan(x).select(x, scaled) ^ SIGN


def _adjustment(lower: Bits, upper: Bits) -> Bits:
    """The word for addexp.s (exponent field) and addexpm.s (fraction bits 21..14); both 32 bits, 8 used."""
    return (lower & 0xFF).shl(23) | (upper & 0xFF).shl(14) | 0xC000


def _power(a: Bits) -> Bits:
    """Adjustment for the power 2**a."""
    return _adjustment((a & 31).shl(3) + 127, a.ashr(5).shl(3) + 127)


def _class(code: Bits) -> Bits:
    """Adjustment for a class of results."""
    return _adjustment(code.shl(3) + 127, (code & 0) + _CLASS_UPPER)


def _half_exponent(x: Bits) -> Bits:
    """floor of half the exponent."""
    return (normalized(x)[0] - 127).ashr(1)


@semantics("mksadj.s")
def root_adjustment(m: Machine, o: Operands) -> None:
    """Exponent of sqrt(fs), or its class: zero with its sign, infinity, NaN for negative numbers."""
    x = o.fs
    negative = x.bits(31, 31)
    wrong = is_nan(x) | negative
    code = is_infinite(x).select(m.const(32, _INFINITE), 0)
    code = is_zero(x).select(negative.zext(32), wrong.select(m.const(32, _NOT_A_NUMBER), code))
    special = is_zero(x) | wrong | is_infinite(x)
    o.fr = special.select(_class(code), _power(_half_exponent(x)))
    if m.track_fsr:
        raise_flags(m, Invalid=signalling(x) | negative & ~is_zero(x) & ~is_nan(x))


@semantics("mkdadj.s")
def quotient_adjustment(m: Machine, o: Operands) -> None:
    """Exponent of fs / fr (even parts: the odd ones stay in the scaled values), or the class of the
    quotient.
    """
    denominator, numerator = o.fr, o.fs
    nan = is_nan(denominator) | is_nan(numerator)
    zeros = is_zero(denominator) & is_zero(numerator)
    infinities = is_infinite(denominator) & is_infinite(numerator)
    infinite = is_infinite(numerator) | is_zero(denominator)
    special = nan | infinite | is_zero(numerator) | is_infinite(denominator)
    code = infinite.select(m.const(32, _INFINITE), 0)
    code = (nan | zeros | infinities).select(m.const(32, _NOT_A_NUMBER), code)
    code = code | (denominator ^ numerator).lshr(31)
    power = (_half_exponent(numerator) - _half_exponent(denominator)).shl(1)
    o.fr = special.select(_class(code), _power(power))
    if m.track_fsr:
        by_zero = is_zero(denominator) & ~nan & ~is_zero(numerator) & ~is_infinite(numerator)
        raise_flags(m, Invalid=signalling(denominator, numerator) | zeros | infinities, DivZero=by_zero)


@semantics("addexp.s")
def add_lower(m: Machine, o: Operands) -> None:
    """The exponent field of fs, less 127, is added to that of fr modulo 256; the signs are multiplied."""
    exponent = o.fr.bits(30, 23) + o.fs.bits(30, 23) - 127
    o.fr = (o.fr ^ sign_of(o.fs)) & 0x807FFFFF | exponent.zext(32).shl(23)


@semantics("addexpm.s")
def add_upper(m: Machine, o: Operands) -> None:
    """The same with fraction bits 21..14 of fs as exponent and bit 22 as sign."""
    exponent = o.fr.bits(30, 23) + o.fs.bits(21, 14) - 127
    sign = o.fs.bits(22, 22).zext(32).shl(31)
    o.fr = (o.fr ^ sign) & 0x807FFFFF | exponent.zext(32).shl(23)


# --- the final step ---------------------------------------------------------------------------------
def _taken_apart(m: Machine, x: Bits) -> tuple[Bits, Bits]:
    """An operand whose exponent carries a part of A: (5 bits of A, the rest as binary64 of magnitude 1/8 ..
    32).

    The exponent e - 127 is 8 * k + p with p = -3 .. 4; k modulo 32 is the part. The leading 1 is always
    there.
    """
    field = x.bits(30, 23) + 4
    part = field.bits(7, 3) ^ 16
    rest = field.bits(2, 0).zext(11) + (1023 - 3)
    return part, x.bits(31, 31).cat(rest).cat(x.bits(22, 0)).cat(m.const(29, 0))


def _extended(m: Machine, x: Bits) -> Bits:
    """binary32 as binary64, where the exponent of infinities and NaNs counts like any other."""
    large = x.bits(31, 31).cat(m.const(11, 1023 + 128)).cat(x.bits(22, 0)).cat(m.const(29, 0))
    return x.bits(30, 23).eq(255).select(large, x.f_resize(64))


@semantics("divn.s")
def divide_final(m: Machine, o: Operands) -> None:
    """``(fr + fs * ft) * 2**A``, rounded once in the mode of FCR; A and the class are in the exponents of
    fr and ft.

    A NaN in fs is the result whatever else there is. A sum of exactly 0 gives 2**(A - 50) (measured; no
    sequence gets there). The flag for invalid operations is never raised (tool tables and measurement).
    """
    mode = rounding(m)
    upper, quotient = _taken_apart(m, o.fr)
    lower, correction = _taken_apart(m, o.ft)
    total = exact_sum(quotient, _extended(m, o.fs).fmul(correction))
    vanished = (total & ((1 << 63) - 1)).eq(0)
    total = vanished.select(m.const(64, (1023 - 50) << 52), total)
    exact = total.fmul(_scale(m, upper.cat(lower)))
    result = exact.f_resize(32, mode)
    special = upper.eq(12) & lower.ult(8)
    nan = is_nan(o.fs)
    if m.track_fsr:
        flags = rounding_flags(m, exact, result, mode, ~special & ~nan)
        lost = nan & ~special & is_zero(result)
        flags = {n: f if n == "Overflow" else f | lost for n, f in flags.items()}
        raise_flags(m, **flags)
    o.fr = nan.select(o.fs | QUIET, special.select(_of_class(m, lower), result))


def _scale(m: Machine, a: Bits) -> Bits:
    """2**A as binary64 from the 10 bits of A: -640 .. 383, so that the classes lie beyond both ends."""
    negative = ~a.ult(384)
    exponent = a.zext(11) + 1023
    exponent = negative.select(exponent - 1024, exponent)
    return m.const(1, 0).cat(exponent).cat(m.const(52, 0))


def _of_class(m: Machine, code: Bits) -> Bits:
    """The result for a class code: 0, 6 zero; 2 infinity; 4 NaN; the lowest bit is the sign, NaN has none."""
    sign = code.bits(0, 0).zext(32).shl(31)
    kind = code.bits(2, 1)
    number = kind.eq(_INFINITE >> 1).select(sign | INFINITY, sign)
    return kind.eq(_NOT_A_NUMBER >> 1).select(m.const(32, DEFAULT_NAN), number)
