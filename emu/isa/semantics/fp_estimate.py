"""Estimates of 1/x and 1/sqrt(x) to 7 bits, from tables: div0.s, recip0.s, sqrt0.s, rsqrt0.s.

Results are measured (see fp_tables), for every significand. The flags of recip0.s and rsqrt0.s are not: the
tool tables say that both can raise DivZero and Invalid, IEEE-754 says when; div0.s and sqrt0.s raise none.
"""

from __future__ import annotations

from emu.cpu.machine import Machine, Operands
from emu.cpu.values import Bits
from emu.isa.semantics.fp_flags import raise_flags, signalling
from emu.isa.semantics.fp_nan import INFINITY, QUIET, SIGN, is_infinite, is_nan, is_zero
from emu.isa.semantics.fp_tables import RECIPROCAL, ROOT, look_up
from emu.isa.semantics.registry import semantics


def normalized(x: Bits) -> tuple[Bits, Bits]:
    """Biased exponent (32 bits signed, below 1 for subnormals) and the 23 bits behind the leading 1."""
    exponent, fraction = x.bits(30, 23).zext(32), x.bits(22, 0).zext(32)
    shift = fraction.clz() - 8
    subnormal = exponent.eq(0)
    fraction = subnormal.select(fraction.shl(shift) & 0x7FFFFF, fraction)
    return subnormal.select(-shift + 1, exponent), fraction


def sign_of(x: Bits) -> Bits:
    """The sign bit in its place, the rest 0."""
    return x & SIGN


def _assemble(sign: Bits, exponent: Bits, fraction: Bits) -> Bits:
    """A binary32; from exponent 255 on infinity, below 1 subnormal by a shift that drops bits."""
    significand = fraction | 0x800000
    normal = exponent.shl(23) | fraction
    small = significand.lshr(-exponent + 1)
    number = exponent.slt(1).select(small, normal)
    return sign | exponent.slt(255).select(number, INFINITY)


def _reciprocal(m: Machine, fraction: Bits) -> Bits:
    """Fraction of the estimate of 1/x, in 32 bits."""
    return look_up(m, RECIPROCAL, fraction.bits(22, 16)).zext(32).shl(16)


def _root(m: Machine, odd: Bits, fraction: Bits) -> Bits:
    """Fraction of the estimate of 1/sqrt(x), in 32 bits."""
    return look_up(m, ROOT, odd.cat(fraction.bits(22, 17))).zext(32).shl(16)


@semantics("div0.s")
def divide_estimate(m: Machine, o: Operands) -> None:
    """1/x for x scaled into [1, 4); no special cases, not even for zero, infinity and NaN."""
    exponent, fraction = normalized(o.fs)
    scale = (exponent & 1) + 125
    o.fr = sign_of(o.fs) | scale.shl(23) | _reciprocal(m, fraction)


@semantics("recip0.s")
def reciprocal_estimate(m: Machine, o: Operands) -> None:
    """1/x to 7 bits; 1/0 is infinity, NaN keeps sign and a table value."""
    x = o.fs
    exponent, fraction = normalized(x)
    estimate = _reciprocal(m, fraction)
    number = _assemble(sign_of(x), -exponent + 253, estimate)
    number = is_zero(x).select(sign_of(x) | INFINITY, is_infinite(x).select(sign_of(x), number))
    o.fr = is_nan(x).select(sign_of(x) | INFINITY | (estimate | 0x800000).lshr(1), number)
    if m.track_fsr:
        raise_flags(m, DivZero=is_zero(x), Invalid=signalling(x))


@semantics("rsqrt0.s")
def root_reciprocal_estimate(m: Machine, o: Operands) -> None:
    """1/sqrt(x) to 7 bits; 1/sqrt(0) is infinity, negative numbers and NaN give a quiet NaN with a table
    value.
    """
    x = o.fs
    exponent, fraction = normalized(x)
    estimate = _root(m, exponent.bits(0, 0), fraction)
    number = (-exponent + 380).lshr(1).shl(23) | estimate
    number = is_infinite(x).select(x & 0, number)
    wrong = x.bits(31, 31) | is_nan(x)
    number = wrong.select(sign_of(x) | INFINITY | QUIET | estimate, number)
    o.fr = is_zero(x).select(sign_of(x) | INFINITY, number)
    if m.track_fsr:
        negative = x.bits(31, 31) & ~is_zero(x) & ~is_nan(x)
        raise_flags(m, DivZero=is_zero(x), Invalid=negative | signalling(x))


@semantics("sqrt0.s")
def root_estimate(m: Machine, o: Operands) -> None:
    """1/sqrt(x) for x scaled into [1, 4), always with the exponent of 0.5; only zero is looked up as even."""
    x = o.fs
    exponent, fraction = normalized(x)
    odd = exponent.bits(0, 0) & ~is_zero(x)
    o.fr = sign_of(x) | (126 << 23) | _root(m, odd, fraction)
