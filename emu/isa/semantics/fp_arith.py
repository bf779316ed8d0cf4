"""Arithmetic, comparison and moves of the FPU (ISA manual, Floating-Point Coprocessor Option)."""

from __future__ import annotations

from collections.abc import Callable

from emu.cpu.machine import Machine, Operands
from emu.cpu.values import Bits
from emu.isa.semantics.fp_flags import (
    exact_product,
    exact_sum,
    finite,
    made_nan,
    raise_flags,
    rounding_flags,
    signalling,
)
from emu.isa.semantics.fp_nan import SIGN, is_nan, propagate, rounding
from emu.isa.semantics.registry import semantics


# --- sums and products ----------------------------------------------------------------------------
@semantics("add.s", flip=0)
@semantics("sub.s", flip=SIGN)
def add(m: Machine, o: Operands, flip: int) -> None:
    """``fr = fs + ft`` or ``fs - ft``, one rounding in the mode of FCR."""
    mode = rounding(m)
    a, b = o.fs, o.ft
    summand = b ^ flip
    result = a.fadd(summand, mode)
    if m.track_fsr:
        exact = exact_sum(a.f_resize(64), summand.f_resize(64))
        flags = rounding_flags(m, exact, result, mode, finite(a, b))
        raise_flags(m, Invalid=signalling(a, b) | made_nan(result, a, b), **flags)
    o.fr = propagate(m, result, b, a)


@semantics("mul.s")
def multiply(m: Machine, o: Operands) -> None:
    """``fr = fs * ft``, one rounding in the mode of FCR."""
    mode = rounding(m)
    a, b = o.fs, o.ft
    result = a.fmul(b, mode)
    if m.track_fsr:
        flags = rounding_flags(m, exact_product(a, b), result, mode, finite(a, b))
        raise_flags(m, Invalid=signalling(a, b) | made_nan(result, a, b), **flags)
    o.fr = propagate(m, result, b, a)


@semantics("madd.s", flip=0)
@semantics("msub.s", flip=SIGN)
def multiply_add(m: Machine, o: Operands, flip: int) -> None:
    """``fr = fr + fs * ft`` or ``fr - fs * ft``; one rounding, or two when the engine is told to split
    them.
    """
    mode = rounding(m)
    a, b, c = o.fs, o.ft, o.fr
    step = _fused if m.fused else _split
    o.fr = propagate(m, step(m, a ^ flip, b, c, mode), c, b, a)


def _fused(m: Machine, a: Bits, b: Bits, c: Bits, mode: Bits) -> Bits:
    result = a.fma(b, c, mode)
    if m.track_fsr:
        exact = exact_sum(exact_product(a, b), c.f_resize(64))
        flags = rounding_flags(m, exact, result, mode, finite(a, b, c))
        raise_flags(m, Invalid=_invalid(result, a, b, c), **flags)
    return result


def _invalid(result: Bits, a: Bits, b: Bits, c: Bits) -> Bits:
    """Also for 0 * inf plus a quiet NaN (measured, and as in QEMU)."""
    return signalling(a, b, c) | made_nan(result, a, b, c) | made_nan(a.fmul(b), a, b)


def _split(m: Machine, a: Bits, b: Bits, c: Bits, mode: Bits) -> Bits:
    """mul.s, then add.s: a diagnosis of contracted code, not what the chip does."""
    product = a.fmul(b, mode)
    result = c.fadd(product, mode)
    if m.track_fsr:
        first = rounding_flags(m, exact_product(a, b), product, mode, finite(a, b))
        exact = exact_sum(c.f_resize(64), product.f_resize(64))
        second = rounding_flags(m, exact, result, mode, finite(c, product))
        both = {name: first[name] | second[name] for name in first}
        raise_flags(m, Invalid=_invalid(result, a, b, c), **both)
    return result


@semantics("maddn.s")
def multiply_add_nearest(m: Machine, o: Operands) -> None:
    """``fr = fr + fs * ft``, one rounding to nearest even whatever FCR says, without flags."""
    a, b, c = o.fs, o.ft, o.fr
    o.fr = propagate(m, a.fma(b, c), c, b, a)


# --- comparison -----------------------------------------------------------------------------------
@semantics("oeq.s", test=lambda a, b: a.feq(b))
@semantics("ueq.s", test=lambda a, b: a.feq(b) | a.funordered(b))
@semantics("olt.s", test=lambda a, b: a.flt(b), loud=True)
@semantics("ult.s", test=lambda a, b: a.flt(b) | a.funordered(b))
@semantics("ole.s", test=lambda a, b: a.flt(b) | a.feq(b), loud=True)
@semantics("ule.s", test=lambda a, b: ~b.flt(a))
@semantics("un.s", test=lambda a, b: a.funordered(b))
def compare(m: Machine, o: Operands, test: Callable[[Bits, Bits], Bits], loud: bool = False) -> None:
    """``br = test(fs, ft)``; o..: false on NaN, u..: true on NaN.

    A signalling NaN is invalid everywhere, a quiet one only for olt.s and ole.s (measured; IEEE-754's
    signalling predicates).
    """
    a, b = o.fs, o.ft
    if m.track_fsr:
        raise_flags(m, Invalid=is_nan(a) | is_nan(b) if loud else signalling(a, b))
    o.br = test(a, b)


# --- moves: bit patterns, never changed -------------------------------------------------------------
@semantics("mov.s")
def move(m: Machine, o: Operands) -> None:
    """``fr = fs``."""
    o.fr = o.fs


@semantics("abs.s")
def absolute(m: Machine, o: Operands) -> None:
    """Clear the sign bit, also of a NaN."""
    o.fr = o.fs & ~SIGN


@semantics("neg.s")
def negate(m: Machine, o: Operands) -> None:
    """Flip the sign bit, also of a NaN."""
    o.fr = o.fs ^ SIGN


@semantics("moveqz.s", take=lambda t: t.eq(0))
@semantics("movnez.s", take=lambda t: t.ne(0))
@semantics("movltz.s", take=lambda t: t.slt(0))
@semantics("movgez.s", take=lambda t: t.sge(0))
def move_if(m: Machine, o: Operands, take: Callable[[Bits], Bits]) -> None:
    """``if (at ...) fr = fs``."""
    o.fr = take(o.t).select(o.fs, o.fr)


@semantics("movt.s", wanted=1)
@semantics("movf.s", wanted=0)
def move_boolean(m: Machine, o: Operands, wanted: int) -> None:
    """``fr = fs`` if ``bt`` is set (movt) or clear (movf)."""
    o.fr = o.bt.eq(wanted).select(o.fs, o.fr)
