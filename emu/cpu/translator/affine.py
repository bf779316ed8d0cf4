"""Addresses of a loop body as sums of registers: the semantics run a third time, on linear forms.

A 32-bit scalar may be known as ``sum of registers + constant`` in terms of the address registers at the
start of an iteration; everything else is unknown. Nothing is guessed: an operation without a rule here
gives an unknown value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from emu.cpu.values import Bits, Operand

WORD = 32
_MASK = 0xFFFFFFFF


@dataclass(frozen=True)
class Linear:
    """``sum(count * register) + constant`` modulo 2**32, its low bits cleared to a multiple of ``align``."""

    terms: Mapping[int, int] = field(default_factory=dict)
    constant: int = 0
    align: int = 1

    def plus(self, other: Linear, sign: int = 1) -> Linear | None:
        """Sum or difference; None when one of them has lost bits."""
        if self.align > 1 or other.align > 1:
            return None
        terms = dict(self.terms)
        for register, count in other.terms.items():
            terms[register] = terms.get(register, 0) + sign * count
        return Linear(_kept(terms), (self.constant + sign * other.constant) & _MASK)

    def times(self, factor: int) -> Linear:
        """A multiple."""
        terms = {register: count * factor for register, count in self.terms.items()}
        return Linear(_kept(terms), self.constant * factor & _MASK)

    def replaced(self, values: Sequence[Linear | None]) -> Linear | None:
        """With every register replaced by its value in other terms; None when one of those is not known."""
        total: Linear | None = Linear({}, self.constant)
        for register, count in self.terms.items():
            value = values[register] if register < len(values) else None
            if value is None or total is None:
                return None
            total = total.plus(value.times(count))
        return None if total is None else Linear(total.terms, total.constant, self.align)


def _kept(terms: dict[int, int]) -> Mapping[int, int]:
    """Without what vanishes modulo 2**32."""
    signed = {register: (count + (1 << 31) & _MASK) - (1 << 31) for register, count in terms.items()}
    return MappingProxyType({register: count for register, count in signed.items() if count})


@dataclass(frozen=True)
class Shifted:
    """``of`` shifted right by ``by`` bits, with its sign or without; grows and falls with ``of``."""

    of: Linear
    by: int
    is_signed: bool


@dataclass(frozen=True)
class Relation:
    """A comparison of two words: ``left kind right`` with kind eq, ult or slt, or its negation."""

    kind: str
    left: Linear
    right: Linear
    is_negated: bool = False


def _number_of(value: Operand) -> int | None:
    """An operand that is a constant."""
    return value if isinstance(value, int) else getattr(value, "number", None)


class Form(Bits):
    """A value of some shape; ``linear`` is None when nothing is known of it, ``relation`` also for flags.

    ``most``: no lane is larger, as an unsigned number. ``shifted``: what a word without ``linear``
    is, if that is known.
    """

    def __init__(
        self,
        lane: int,
        count: int = 1,
        linear: Linear | None = None,
        relation: Relation | None = None,
        most: int | None = None,
        shifted: Shifted | None = None,
    ) -> None:
        self.lane = lane
        self.count = count
        self.linear = linear
        self.relation = relation
        self.most = (1 << lane) - 1 if most is None else most
        self.shifted = shifted

    def _like(self) -> Form:
        return Form(self.lane, self.count)

    def _flag(self) -> Form:
        return Form(1, self.count)

    @property
    def number(self) -> int | None:
        """The value of a constant."""
        known = self.linear
        return known.constant if known is not None and not known.terms and known.align == 1 else None

    def _linear_of(self, other: Operand) -> Linear | None:
        if isinstance(other, int):
            return Linear({}, other & _MASK)
        return other.linear if isinstance(other, Form) else None

    def _sum(self, other: Operand, sign: int) -> Form:
        mine, theirs = self.linear, self._linear_of(other)
        if self.lane != WORD or self.count != 1 or mine is None or theirs is None:
            return self._like()
        return Form(WORD, 1, mine.plus(theirs, sign))

    def __add__(self, other: Operand) -> Form:
        return self._sum(other, 1)

    def __sub__(self, other: Operand) -> Form:
        return self._sum(other, -1)

    def __and__(self, other: Operand) -> Form:
        mask = other & _MASK if isinstance(other, int) else getattr(other, "number", None)
        if mask is None or self.lane != WORD or self.count != 1:
            return self._like()
        if self.linear is None:
            return Form(WORD, 1, most=min(mask, self.most))
        align = (~mask & _MASK) + 1
        if align & (align - 1) or self.linear.align > 1:
            return Form(WORD, 1, most=min(mask, self.most))
        return Form(WORD, 1, Linear(self.linear.terms, self.linear.constant, align))

    def _compare(self, kind: str, other: Operand) -> Form:
        left, right = self.linear, self._linear_of(other)
        if self.lane != WORD or self.count != 1 or left is None or right is None:
            return self._flag()
        if left.align > 1 or right.align > 1:
            return self._flag()
        return Form(1, 1, None, Relation(kind, left, right))

    # --- shapes -----------------------------------------------------------------------------------------
    def split(self, lane: int) -> Form:
        """See :meth:`Bits.split`."""
        return self if lane == self.lane else Form(lane, self.width // lane)

    def get(self, index: int) -> Form:
        """See :meth:`Bits.get`."""
        return self if self.count == 1 else Form(self.lane)

    def put(self, index: int, value: Operand) -> Form:
        """See :meth:`Bits.put`."""
        return self._like()

    def shuffle(self, other: Bits, indices: Sequence[int]) -> Form:
        """See :meth:`Bits.shuffle`."""
        return Form(self.lane, len(indices))

    def broadcast(self, count: int) -> Form:
        """See :meth:`Bits.broadcast`."""
        return Form(self.lane, count)

    def bits(self, high: int, low: int) -> Form:
        """See :meth:`Bits.bits`."""
        return Form(high - low + 1)

    def cat(self, low: Bits) -> Form:
        """See :meth:`Bits.cat`."""
        return Form(self.lane + low.lane)

    def sext(self, lane: int) -> Form:
        """See :meth:`Bits.sext`."""
        return self if lane == self.lane else Form(lane, self.count)

    def zext(self, lane: int) -> Form:
        """See :meth:`Bits.zext`."""
        return self if lane == self.lane else Form(lane, self.count, most=self.most)

    def trunc(self, lane: int) -> Form:
        """See :meth:`Bits.trunc`."""
        return self if lane == self.lane else Form(lane, self.count, most=min(self.most, (1 << lane) - 1))

    def sum_lanes(self) -> Form:
        """See :meth:`Bits.sum_lanes`."""
        return Form(self.lane)

    def select(self, then: Bits, otherwise: Operand) -> Form:
        """See :meth:`Bits.select`."""
        return Form(then.lane, then.count)

    # --- everything else is unknown ---------------------------------------------------------------------
    def __mul__(self, other: Operand) -> Form:
        return self._like()

    def __or__(self, other: Operand) -> Form:
        return self._like()

    def __xor__(self, other: Operand) -> Form:
        return self._like()

    def __invert__(self) -> Form:
        known = self.relation
        if known is None:
            return self._like()
        return Form(1, 1, None, replace(known, is_negated=not known.is_negated))

    def __neg__(self) -> Form:
        return self._like()

    def shl(self, amount: Operand) -> Form:
        """See :meth:`Bits.shl`."""
        count, known = _number_of(amount), self.linear
        if known is None or count is None or known.align > 1 or not 0 <= count < WORD or self.lane != WORD:
            return self._like()
        return Form(WORD, 1, known.times(1 << count))

    def lshr(self, amount: Operand) -> Form:
        """See :meth:`Bits.lshr`."""
        count = _number_of(amount)
        return Form(
            self.lane, self.count, most=self.most >> (count or 0), shifted=self._shifted(count, False)
        )

    def ashr(self, amount: Operand) -> Form:
        """See :meth:`Bits.ashr`."""
        return Form(self.lane, self.count, shifted=self._shifted(_number_of(amount), True))

    def _shifted(self, count: int | None, is_signed: bool) -> Shifted | None:
        known = self.linear
        if known is None or count is None or known.align > 1 or not 0 <= count < WORD or self.lane != WORD:
            return None
        return Shifted(known, count, is_signed)

    def udiv(self, other: Operand) -> Form:
        """See :meth:`Bits.udiv`."""
        return self._like()

    def urem(self, other: Operand) -> Form:
        """See :meth:`Bits.urem`."""
        return self._like()

    def sdiv(self, other: Operand) -> Form:
        """See :meth:`Bits.sdiv`."""
        return self._like()

    def srem(self, other: Operand) -> Form:
        """See :meth:`Bits.srem`."""
        return self._like()

    def smin(self, other: Operand) -> Form:
        """See :meth:`Bits.smin`."""
        return self._like()

    def smax(self, other: Operand) -> Form:
        """See :meth:`Bits.smax`."""
        return self._like()

    def umin(self, other: Operand) -> Form:
        """See :meth:`Bits.umin`."""
        return self._like()

    def umax(self, other: Operand) -> Form:
        """See :meth:`Bits.umax`."""
        return self._like()

    def clz(self) -> Form:
        """See :meth:`Bits.clz`."""
        return self._like()

    def reverse(self) -> Form:
        """See :meth:`Bits.reverse`."""
        return self._like()

    def eq(self, other: Operand) -> Form:
        """See :meth:`Bits.eq`."""
        return self._compare("eq", other)

    def ult(self, other: Operand) -> Form:
        """See :meth:`Bits.ult`."""
        return self._compare("ult", other)

    def slt(self, other: Operand) -> Form:
        """See :meth:`Bits.slt`."""
        return self._compare("slt", other)

    def feq(self, other: Bits) -> Form:
        """See :meth:`Bits.feq`."""
        return self._flag()

    def flt(self, other: Bits) -> Form:
        """See :meth:`Bits.flt`."""
        return self._flag()

    def funordered(self, other: Bits) -> Form:
        """See :meth:`Bits.funordered`."""
        return self._flag()

    def fadd(self, other: Bits, mode: Operand = 0) -> Form:
        """See :meth:`Bits.fadd`."""
        return self._like()

    def fsub(self, other: Bits, mode: Operand = 0) -> Form:
        """See :meth:`Bits.fsub`."""
        return self._like()

    def fmul(self, other: Bits, mode: Operand = 0) -> Form:
        """See :meth:`Bits.fmul`."""
        return self._like()

    def fma(self, factor: Bits, addend: Bits, mode: Operand = 0) -> Form:
        """See :meth:`Bits.fma`."""
        return self._like()

    def fround(self, how: str) -> Form:
        """See :meth:`Bits.fround`."""
        return self._like()

    def f_to_s(self, bits: int) -> Form:
        """See :meth:`Bits.f_to_s`."""
        return Form(bits)

    def f_to_u(self, bits: int) -> Form:
        """See :meth:`Bits.f_to_u`."""
        return Form(bits)

    def s_to_f(self, lane: int = 32, mode: Operand = 0) -> Form:
        """See :meth:`Bits.s_to_f`."""
        return Form(lane)

    def u_to_f(self, lane: int = 32, mode: Operand = 0) -> Form:
        """See :meth:`Bits.u_to_f`."""
        return Form(lane)

    def f_resize(self, lane: int, mode: Operand = 0) -> Form:
        """See :meth:`Bits.f_resize`."""
        return Form(lane)


def register(index: int) -> Form:
    """Address register ``index`` at the start of an iteration."""
    return Form(WORD, 1, Linear(MappingProxyType({index: 1})))


def number(width: int, value: int) -> Form:
    """A constant; only words are known."""
    return Form(width, 1, Linear({}, value & _MASK) if width == WORD else None)
