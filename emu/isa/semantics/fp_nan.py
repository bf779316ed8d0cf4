"""The NaN rule of the FPU, in one place.

* A result that is NaN although no operand is (inf - inf, 0 * inf) is 0x7FC00000.
* If operands are NaN, one of them is the result, with its quiet bit set and sign and payload kept. The
  accumulator ``fr`` of madd.s, msub.s and maddn.s comes first, then ``ft``, then ``fs``.
* Signalling NaNs only raise the invalid flag; there are no floating-point traps.

Where it comes from. Measured on two chips with this FPU, an ESP32-S3 v0.2 and an ESP32 v3.1 (open project
"lightplayer", 5,630 vectors with result and FSR, both chips equal; docs/isa-notes.md). QEMU says the same
for its core de233_fpu: second operand before first, addend first in a multiply-add, default NaN 0x7FC00000;
it is run beside ours in tests/isa/semantics/test_qemu.py. The chip's manual of 2010 is silent on payloads,
says that signalling NaNs are not supported and that no flags are set; the measurements disagree on both.
"""

from __future__ import annotations

from emu.cpu.machine import Machine
from emu.cpu.values import Bits
from emu.isa.semantics.registry import block

QUIET = 0x00400000
SIGN = 0x80000000
INFINITY = 0x7F800000
DEFAULT_NAN = 0x7FC00000


def is_nan(x: Bits) -> Bits:
    """1 bit: any NaN."""
    return x.funordered(x)


def is_signalling(x: Bits) -> Bits:
    """1 bit: a NaN whose quiet bit is clear."""
    return is_nan(x) & ~x.bits(22, 22)


def is_infinite(x: Bits) -> Bits:
    """1 bit: either infinity."""
    return (x & ~SIGN).eq(INFINITY)


def is_zero(x: Bits) -> Bits:
    """1 bit: either zero."""
    return (x & ~SIGN).eq(0)


@block
def propagate(m: Machine, result: Bits, *operands: Bits) -> Bits:
    """``result`` where it is a number, else the first NaN among the operands in order of precedence.

    The NaN is chosen beside the arithmetic, not behind it, so that it costs one test and one choice there.
    """
    chosen = m.const(32, DEFAULT_NAN)
    for operand in reversed(operands):
        chosen = is_nan(operand).select(operand | QUIET, chosen)
    return is_nan(result).select(chosen, result)


def rounding(m: Machine) -> Bits:
    """FCR.RoundMode, for an instruction that obeys it."""
    m.need_nearest_even()
    return m.RoundMode
