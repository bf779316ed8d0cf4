"""The sticky flags of FSR, from exact values.

The exact result of one operation on binary32 is kept as binary64 rounded to odd: the nearest double toward
zero or away whose last bit is 1 when the value does not fit. 53 bits rounded to odd and then to 24 give
what one rounding gives, and the value equals a binary32 exactly when no rounding was needed. IEEE-754:
tininess is detected after rounding, as in QEMU; the chip measurements (see fp_nan) agree where they can
tell.
"""

from __future__ import annotations

from emu.cpu.machine import Machine
from emu.cpu.values import Bits
from emu.isa.semantics.fp_nan import is_infinite, is_nan, is_signalling

_MAGNITUDE_64 = (1 << 63) - 1
_TWO_128 = (1023 + 128) << 52
_TWO_192 = (1023 + 192) << 52
_TINY = (127 - 126 + 192) << 23


def raise_flags(m: Machine, **flags: Bits) -> None:
    """Set sticky flags (names of states without "Flag") where the 1-bit condition holds; write each name
    once.
    """
    for name, condition in flags.items():
        state = f"{name}Flag"
        m.write_state(state, m.read_state(state) | condition)


def exact_sum(a: Bits, b: Bits) -> Bits:
    """``a + b`` of two finite binary64 as binary64 rounded to odd (Knuth's two-sum gives the error
    exactly).
    """
    head = a.fadd(b)
    part = head.fsub(a)
    error = a.fsub(head.fsub(part)).fadd(b.fsub(part))
    away = head.bits(63, 63).eq(error.bits(63, 63))
    nudged = away.select(head + 1, head - 1)
    must = (error & _MAGNITUDE_64).ne(0) & ~head.bits(0, 0)
    return must.select(nudged, head)


def exact_product(a: Bits, b: Bits) -> Bits:
    """Product of two binary32 as binary64, which holds it exactly."""
    return a.f_resize(64).fmul(b.f_resize(64))


def finite(*operands: Bits) -> Bits:
    """1 bit: no operand is an infinity or a NaN."""
    every = operands[0].bits(30, 23).ne(255)
    for operand in operands[1:]:
        every = every & operand.bits(30, 23).ne(255)
    return every


def signalling(*operands: Bits) -> Bits:
    """1 bit: one of the operands is a signalling NaN."""
    found = is_signalling(operands[0])
    for operand in operands[1:]:
        found = found | is_signalling(operand)
    return found


def made_nan(result: Bits, *operands: Bits) -> Bits:
    """1 bit: ``result`` is NaN though no operand is."""
    made = is_nan(result)
    for operand in operands:
        made = made & ~is_nan(operand)
    return made


def rounding_flags(m: Machine, exact: Bits, result: Bits, mode: Bits, valid: Bits) -> dict[str, Bits]:
    """Inexact, Overflow, Underflow of rounding ``exact`` (rounded to odd) to ``result``, where ``valid``
    holds.
    """
    inexact = valid & ~exact.feq(result.f_resize(64))
    magnitude = exact & _MAGNITUDE_64
    overflow = valid & (is_infinite(result) | ~magnitude.ult(_TWO_128))
    scaled = exact.fmul(m.const(64, _TWO_192)).f_resize(32, mode)
    tiny = (scaled & 0x7FFFFFFF).ult(_TINY)
    return {"Inexact": inexact | overflow, "Overflow": overflow, "Underflow": inexact & tiny}
