"""Fixed-width bit vectors, the only values that instruction semantics compute with.

A value has ``count`` lanes of ``lane`` bits each (``count == 1``: a scalar); lane 0 is the least significant.
Every operation works lane by lane on operands of the same shape; a plain ``int`` operand is taken as a
constant of that shape. There is no truth value: use :meth:`Bits.select`. Two implementations exist:
``value_int`` (Python integers: the reference stepper) and ``value_ir`` (LLVM values: the translator). All
operations are total: each has one defined result for every input.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NoReturn, Union

Operand = Union["Bits", int]


class Bits(ABC):
    """``count`` lanes of ``lane`` bits. Comparisons give lanes of one bit."""

    lane: int
    count: int

    @property
    def width(self) -> int:
        """All bits of the value: ``lane * count``."""
        return self.lane * self.count

    def __bool__(self) -> NoReturn:
        raise TypeError("a Bits value has no truth value at translation time; use cond.select(a, b)")

    # --- shape ---------------------------------------------------------------------------------
    @abstractmethod
    def split(self, lane: int) -> Bits:
        """The same bits seen as lanes of ``lane`` bits (``lane`` divides ``width``)."""

    def join(self) -> Bits:
        """The same bits as one scalar."""
        return self.split(self.width)

    @abstractmethod
    def get(self, index: int) -> Bits:
        """Lane ``index`` as a scalar."""

    @abstractmethod
    def put(self, index: int, value: Operand) -> Bits:
        """A copy with lane ``index`` replaced by the scalar ``value`` of ``lane`` bits."""

    @abstractmethod
    def shuffle(self, other: Bits, indices: Sequence[int]) -> Bits:
        """Lanes picked from ``self`` (0..count-1) followed by ``other`` (count..2*count-1)."""

    @abstractmethod
    def broadcast(self, count: int) -> Bits:
        """A scalar repeated in ``count`` lanes."""

    @abstractmethod
    def bits(self, high: int, low: int) -> Bits:
        """Bits ``high..low`` of a scalar, as a scalar of ``high - low + 1`` bits."""

    @abstractmethod
    def cat(self, low: Bits) -> Bits:
        """Scalar concatenation: ``self`` above ``low``."""

    @abstractmethod
    def sext(self, lane: int) -> Bits:
        """Each lane sign-extended to ``lane`` bits (no-op when equal)."""

    @abstractmethod
    def zext(self, lane: int) -> Bits:
        """Each lane zero-extended to ``lane`` bits (no-op when equal)."""

    @abstractmethod
    def trunc(self, lane: int) -> Bits:
        """The low ``lane`` bits of each lane (no-op when equal)."""

    # --- integer arithmetic, modulo 2**lane ------------------------------------------------------
    @abstractmethod
    def __add__(self, other: Operand) -> Bits: ...

    @abstractmethod
    def __sub__(self, other: Operand) -> Bits: ...

    @abstractmethod
    def __mul__(self, other: Operand) -> Bits: ...

    @abstractmethod
    def __and__(self, other: Operand) -> Bits: ...

    @abstractmethod
    def __or__(self, other: Operand) -> Bits: ...

    @abstractmethod
    def __xor__(self, other: Operand) -> Bits: ...

    @abstractmethod
    def __invert__(self) -> Bits: ...

    @abstractmethod
    def __neg__(self) -> Bits: ...

    @abstractmethod
    def shl(self, amount: Operand) -> Bits:
        """Left shift; amounts (unsigned, a scalar or same-shape value of any lane width) >= lane give 0."""

    @abstractmethod
    def lshr(self, amount: Operand) -> Bits:
        """Logical right shift; amounts >= lane give 0."""

    @abstractmethod
    def ashr(self, amount: Operand) -> Bits:
        """Arithmetic right shift; amounts >= lane fill with the sign."""

    @abstractmethod
    def udiv(self, other: Operand) -> Bits:
        """Unsigned quotient; division by 0 gives all ones."""

    @abstractmethod
    def urem(self, other: Operand) -> Bits:
        """Unsigned remainder; by 0 gives the dividend."""

    @abstractmethod
    def sdiv(self, other: Operand) -> Bits:
        """Signed quotient toward 0; by 0 gives all ones; MIN / -1 gives MIN."""

    @abstractmethod
    def srem(self, other: Operand) -> Bits:
        """Signed remainder with the dividend's sign; by 0 gives the dividend; MIN % -1 gives 0."""

    @abstractmethod
    def clz(self) -> Bits:
        """Leading zero bits of each lane, in the lane's own width (the width itself for 0)."""

    @abstractmethod
    def reverse(self) -> Bits:
        """Each lane's bits in reverse order."""

    @abstractmethod
    def sum_lanes(self) -> Bits:
        """Sum of all lanes modulo 2**lane, as a scalar."""

    # --- comparison and choice --------------------------------------------------------------------
    @abstractmethod
    def eq(self, other: Operand) -> Bits:
        """Equal."""

    @abstractmethod
    def ult(self, other: Operand) -> Bits:
        """Unsigned less than."""

    @abstractmethod
    def slt(self, other: Operand) -> Bits:
        """Signed less than."""

    def ne(self, other: Operand) -> Bits:
        """Not equal."""
        return ~self.eq(other)

    def uge(self, other: Operand) -> Bits:
        """Unsigned greater or equal."""
        return ~self.ult(other)

    def sge(self, other: Operand) -> Bits:
        """Signed greater or equal."""
        return ~self.slt(other)

    @abstractmethod
    def select(self, then: Bits, otherwise: Operand) -> Bits:
        """``self`` has one-bit lanes: a scalar condition chooses whole values, lanes choose lanes."""

    @abstractmethod
    def smin(self, other: Operand) -> Bits:
        """Signed minimum."""

    @abstractmethod
    def smax(self, other: Operand) -> Bits:
        """Signed maximum."""

    @abstractmethod
    def umin(self, other: Operand) -> Bits:
        """Unsigned minimum."""

    @abstractmethod
    def umax(self, other: Operand) -> Bits:
        """Unsigned maximum."""

    def clamp_s(self, bits: int) -> Bits:
        """Signed lanes clamped to ``[-2**(bits-1), 2**(bits-1) - 1]``; the lane width stays."""
        return self.smin((1 << (bits - 1)) - 1).smax(-(1 << (bits - 1)))

    def clamp_u(self, bits: int) -> Bits:
        """Unsigned lanes clamped to ``2**bits - 1``; the lane width stays."""
        return self.umin((1 << bits) - 1)

    # --- IEEE-754 binary32 (lane 32) and binary64 (lane 64), scalars only; every NaN result is the positive
    # --- quiet NaN without payload (0x7FC00000). ``mode`` 0 nearest even, 1 toward 0, 2 up, 3 down; the
    # --- translator supports only 0 (semantics call Machine.need_nearest_even first).
    @abstractmethod
    def fadd(self, other: Bits, mode: Operand = 0) -> Bits:
        """Sum."""

    @abstractmethod
    def fsub(self, other: Bits, mode: Operand = 0) -> Bits:
        """Difference."""

    @abstractmethod
    def fmul(self, other: Bits, mode: Operand = 0) -> Bits:
        """Product."""

    @abstractmethod
    def fma(self, factor: Bits, addend: Bits, mode: Operand = 0) -> Bits:
        """``self * factor + addend`` with one rounding."""

    @abstractmethod
    def feq(self, other: Bits) -> Bits:
        """Ordered equal (false on NaN, true for -0 == +0)."""

    @abstractmethod
    def flt(self, other: Bits) -> Bits:
        """Ordered less than."""

    @abstractmethod
    def funordered(self, other: Bits) -> Bits:
        """Either operand is NaN."""

    @abstractmethod
    def fround(self, how: str) -> Bits:
        """To an integral value: ``how`` is "even", "zero", "up" or "down"."""

    @abstractmethod
    def f_to_s(self, bits: int) -> Bits:
        """Toward zero to a signed integer of ``bits`` bits, saturating; NaN gives 0."""

    @abstractmethod
    def f_to_u(self, bits: int) -> Bits:
        """Toward zero to an unsigned integer, saturating; NaN gives 0."""

    @abstractmethod
    def s_to_f(self, lane: int = 32, mode: Operand = 0) -> Bits:
        """Signed integer to float of ``lane`` bits."""

    @abstractmethod
    def u_to_f(self, lane: int = 32, mode: Operand = 0) -> Bits:
        """Unsigned integer to float of ``lane`` bits."""

    @abstractmethod
    def f_resize(self, lane: int, mode: Operand = 0) -> Bits:
        """binary32 <-> binary64."""
