"""Values as Python integers: the arithmetic of the reference stepper.

A lane is kept as a non-negative integer below ``2**lane``. Everything is exact and total by construction;
floats go through :mod:`emu.cpu.softfloat`, never through the host's floating point.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from emu.cpu import softfloat
from emu.cpu.values import Bits, Operand


class IntBits(Bits):
    """A tuple of unsigned lanes. Build scalars with ``IntBits(width, (value,))`` or :func:`scalar`."""

    __slots__ = ("count", "lane", "lanes")

    def __init__(self, lane: int, lanes: tuple[int, ...]) -> None:
        """``lanes`` must already be reduced to ``0..2**lane - 1``."""
        self.lane = lane
        self.lanes = lanes
        self.count = len(lanes)

    def __repr__(self) -> str:
        return f"IntBits({self.lane}, [{', '.join(f'{x:#x}' for x in self.lanes)}])"

    # --- host side --------------------------------------------------------------------------------
    def unsigned(self) -> int:
        """The whole value as one non-negative Python integer."""
        if self.count == 1:
            return self.lanes[0]
        lane, total = self.lane, 0
        for value in reversed(self.lanes):
            total = total << lane | value
        return total

    def signed(self) -> int:
        """The whole value as one two's complement Python integer."""
        value = self.unsigned()
        return value - (1 << self.width) if value >> (self.width - 1) else value

    def signed_lanes(self) -> tuple[int, ...]:
        """Each lane as a two's complement Python integer."""
        return tuple(map(_signer(self.lane), self.lanes))

    # --- shape --------------------------------------------------------------------------------------
    def split(self, lane: int) -> IntBits:
        """See :meth:`Bits.split`."""
        if lane == self.lane:
            return self
        if self.width % lane:
            raise ValueError(f"{self.width} bits do not split into lanes of {lane}")
        value, mask = self.unsigned(), (1 << lane) - 1
        return IntBits(lane, tuple(value >> at & mask for at in range(0, self.width, lane)))

    def get(self, index: int) -> IntBits:
        """See :meth:`Bits.get`."""
        return IntBits(self.lane, (self.lanes[index],))

    def put(self, index: int, value: Operand) -> IntBits:
        """See :meth:`Bits.put`."""
        lanes = list(self.lanes)
        if type(value) is int:
            lanes[index] = value & ((1 << self.lane) - 1)
        else:
            self._check(cast(Bits, value), 1)
            lanes[index] = cast(IntBits, value).lanes[0]
        return IntBits(self.lane, tuple(lanes))

    def shuffle(self, other: Bits, indices: Sequence[int]) -> IntBits:
        """See :meth:`Bits.shuffle`."""
        both = self.lanes + self._lanes_of(other)
        return IntBits(self.lane, tuple(both[i] for i in indices))

    def broadcast(self, count: int) -> IntBits:
        """See :meth:`Bits.broadcast`."""
        self._need_scalar()
        return IntBits(self.lane, self.lanes * count)

    def bits(self, high: int, low: int) -> IntBits:
        """See :meth:`Bits.bits`."""
        self._need_scalar()
        if not 0 <= low <= high < self.lane:
            raise ValueError(f"bits {high}..{low} of a value of {self.lane} bits")
        width = high - low + 1
        return IntBits(width, (self.lanes[0] >> low & ((1 << width) - 1),))

    def cat(self, low: Bits) -> IntBits:
        """See :meth:`Bits.cat`."""
        self._need_scalar()
        below = cast(IntBits, low)
        below._need_scalar()
        return IntBits(self.lane + below.lane, (self.lanes[0] << below.lane | below.lanes[0],))

    def sext(self, lane: int) -> IntBits:
        """See :meth:`Bits.sext`."""
        if lane == self.lane:
            return self
        self._need_wider(lane)
        sign, fill = 1 << (self.lane - 1), (1 << lane) - (1 << self.lane)
        return IntBits(lane, tuple([x | fill if x & sign else x for x in self.lanes]))

    def zext(self, lane: int) -> IntBits:
        """See :meth:`Bits.zext`."""
        if lane == self.lane:
            return self
        self._need_wider(lane)
        return IntBits(lane, self.lanes)

    def trunc(self, lane: int) -> IntBits:
        """See :meth:`Bits.trunc`."""
        if lane == self.lane:
            return self
        if lane > self.lane:
            raise ValueError(f"truncation of {self.lane} bits to {lane}")
        mask = (1 << lane) - 1
        return IntBits(lane, tuple([x & mask for x in self.lanes]))

    # --- integer arithmetic ---------------------------------------------------------------------------
    def __add__(self, other: Operand) -> IntBits:
        mask = (1 << self.lane) - 1
        if type(other) is int:
            return IntBits(self.lane, tuple([(x + other) & mask for x in self.lanes]))
        return IntBits(self.lane, tuple([(x + y) & mask for x, y in self._pairs(other)]))

    def __sub__(self, other: Operand) -> IntBits:
        mask = (1 << self.lane) - 1
        if type(other) is int:
            return IntBits(self.lane, tuple([(x - other) & mask for x in self.lanes]))
        return IntBits(self.lane, tuple([(x - y) & mask for x, y in self._pairs(other)]))

    def __mul__(self, other: Operand) -> IntBits:
        mask = (1 << self.lane) - 1
        return IntBits(self.lane, tuple([(x * y) & mask for x, y in self._pairs(other)]))

    def __and__(self, other: Operand) -> IntBits:
        return IntBits(self.lane, tuple([x & y for x, y in self._pairs(other)]))

    def __or__(self, other: Operand) -> IntBits:
        return IntBits(self.lane, tuple([x | y for x, y in self._pairs(other)]))

    def __xor__(self, other: Operand) -> IntBits:
        return IntBits(self.lane, tuple([x ^ y for x, y in self._pairs(other)]))

    def __invert__(self) -> IntBits:
        mask = (1 << self.lane) - 1
        return IntBits(self.lane, tuple([x ^ mask for x in self.lanes]))

    def __neg__(self) -> IntBits:
        mask = (1 << self.lane) - 1
        return IntBits(self.lane, tuple([-x & mask for x in self.lanes]))

    def shl(self, amount: Operand) -> IntBits:
        """See :meth:`Bits.shl`."""
        lane, mask = self.lane, (1 << self.lane) - 1
        return IntBits(
            lane, tuple([x << n & mask if 0 <= n < lane else 0 for x, n in self._with_amounts(amount)])
        )

    def lshr(self, amount: Operand) -> IntBits:
        """See :meth:`Bits.lshr`."""
        lane = self.lane
        return IntBits(lane, tuple([x >> n if 0 <= n < lane else 0 for x, n in self._with_amounts(amount)]))

    def ashr(self, amount: Operand) -> IntBits:
        """See :meth:`Bits.ashr`."""
        lane, mask, signed = self.lane, (1 << self.lane) - 1, _signer(self.lane)
        pairs = self._with_amounts(amount)
        return IntBits(lane, tuple([signed(x) >> (n if 0 <= n < lane else lane) & mask for x, n in pairs]))

    def udiv(self, other: Operand) -> IntBits:
        """See :meth:`Bits.udiv`."""
        mask = (1 << self.lane) - 1
        return IntBits(self.lane, tuple([x // y if y else mask for x, y in self._pairs(other)]))

    def urem(self, other: Operand) -> IntBits:
        """See :meth:`Bits.urem`."""
        return IntBits(self.lane, tuple([x % y if y else x for x, y in self._pairs(other)]))

    def sdiv(self, other: Operand) -> IntBits:
        """See :meth:`Bits.sdiv`."""
        return self._map_signed(_quotient, other)

    def srem(self, other: Operand) -> IntBits:
        """See :meth:`Bits.srem`."""
        return self._map_signed(lambda x, y: x - _quotient(x, y) * y if y else x, other)

    def clz(self) -> IntBits:
        """See :meth:`Bits.clz`."""
        mask = (1 << self.lane) - 1
        return IntBits(self.lane, tuple([(self.lane - x.bit_length()) & mask for x in self.lanes]))

    def reverse(self) -> IntBits:
        """See :meth:`Bits.reverse`."""
        return IntBits(self.lane, tuple([int(f"{x:0{self.lane}b}"[::-1], 2) for x in self.lanes]))

    def sum_lanes(self) -> IntBits:
        """See :meth:`Bits.sum_lanes`."""
        return IntBits(self.lane, (sum(self.lanes) & ((1 << self.lane) - 1),))

    # --- comparison and choice ------------------------------------------------------------------------
    def eq(self, other: Operand) -> IntBits:
        """See :meth:`Bits.eq`."""
        return IntBits(1, tuple([int(x == y) for x, y in self._pairs(other)]))

    def ult(self, other: Operand) -> IntBits:
        """See :meth:`Bits.ult`."""
        return IntBits(1, tuple([int(x < y) for x, y in self._pairs(other)]))

    def slt(self, other: Operand) -> IntBits:
        """See :meth:`Bits.slt`."""
        flip = 1 << (self.lane - 1)
        return IntBits(1, tuple([int(x ^ flip < y ^ flip) for x, y in self._pairs(other)]))

    def select(self, then: Bits, otherwise: Operand) -> IntBits:
        """See :meth:`Bits.select`."""
        if self.lane != 1:
            raise ValueError(f"select on lanes of {self.lane} bits, not 1")
        chosen = cast(IntBits, then)
        rest = chosen._lanes_of(otherwise)
        if self.count == 1:
            return IntBits(chosen.lane, chosen.lanes if self.lanes[0] else rest)
        chosen._check(chosen, self.count)
        picks = zip(self.lanes, chosen.lanes, rest, strict=True)
        return IntBits(chosen.lane, tuple([x if c else y for c, x, y in picks]))

    def smin(self, other: Operand) -> IntBits:
        """Smaller of two signed lanes."""
        flip = 1 << (self.lane - 1)
        return IntBits(self.lane, tuple([x if x ^ flip < y ^ flip else y for x, y in self._pairs(other)]))

    def smax(self, other: Operand) -> IntBits:
        """Larger of two signed lanes."""
        flip = 1 << (self.lane - 1)
        return IntBits(self.lane, tuple([x if x ^ flip > y ^ flip else y for x, y in self._pairs(other)]))

    def umin(self, other: Operand) -> IntBits:
        """Smaller of two unsigned lanes."""
        return IntBits(self.lane, tuple([min(x, y) for x, y in self._pairs(other)]))

    def umax(self, other: Operand) -> IntBits:
        """Larger of two unsigned lanes."""
        return IntBits(self.lane, tuple([max(x, y) for x, y in self._pairs(other)]))

    # --- floats -----------------------------------------------------------------------------------------
    def fadd(self, other: Bits, mode: Operand = 0) -> IntBits:
        """See :meth:`Bits.fadd`."""
        return self._float(softfloat.add(self._format(), self.lanes[0], self._scalar_of(other), _mode(mode)))

    def fsub(self, other: Bits, mode: Operand = 0) -> IntBits:
        """See :meth:`Bits.fsub`."""
        return self._float(softfloat.sub(self._format(), self.lanes[0], self._scalar_of(other), _mode(mode)))

    def fmul(self, other: Bits, mode: Operand = 0) -> IntBits:
        """See :meth:`Bits.fmul`."""
        return self._float(softfloat.mul(self._format(), self.lanes[0], self._scalar_of(other), _mode(mode)))

    def fma(self, factor: Bits, addend: Bits, mode: Operand = 0) -> IntBits:
        """See :meth:`Bits.fma`."""
        b, c = self._scalar_of(factor), self._scalar_of(addend)
        return self._float(softfloat.fma(self._format(), self.lanes[0], b, c, _mode(mode)))

    def feq(self, other: Bits) -> IntBits:
        """See :meth:`Bits.feq`."""
        return _truth(softfloat.equal(self._format(), self.lanes[0], self._scalar_of(other)))

    def flt(self, other: Bits) -> IntBits:
        """See :meth:`Bits.flt`."""
        return _truth(softfloat.less(self._format(), self.lanes[0], self._scalar_of(other)))

    def funordered(self, other: Bits) -> IntBits:
        """See :meth:`Bits.funordered`."""
        f = self._format()
        return _truth(f.is_nan(self.lanes[0]) or f.is_nan(self._scalar_of(other)))

    def fround(self, how: str) -> IntBits:
        """See :meth:`Bits.fround`."""
        return self._float(softfloat.round_integral(self._format(), self.lanes[0], how))

    def f_to_s(self, bits: int) -> IntBits:
        """See :meth:`Bits.f_to_s`."""
        high = (1 << (bits - 1)) - 1
        value = softfloat.to_int(self._format(), self.lanes[0], -high - 1, high)
        return IntBits(bits, (value & ((1 << bits) - 1),))

    def f_to_u(self, bits: int) -> IntBits:
        """See :meth:`Bits.f_to_u`."""
        return IntBits(bits, (softfloat.to_int(self._format(), self.lanes[0], 0, (1 << bits) - 1),))

    def s_to_f(self, lane: int = 32, mode: Operand = 0) -> IntBits:
        """See :meth:`Bits.s_to_f`."""
        self._need_scalar()
        return IntBits(lane, (softfloat.from_int(softfloat.FORMATS[lane], self.signed(), _mode(mode)),))

    def u_to_f(self, lane: int = 32, mode: Operand = 0) -> IntBits:
        """See :meth:`Bits.u_to_f`."""
        self._need_scalar()
        return IntBits(lane, (softfloat.from_int(softfloat.FORMATS[lane], self.lanes[0], _mode(mode)),))

    def f_resize(self, lane: int, mode: Operand = 0) -> IntBits:
        """See :meth:`Bits.f_resize`."""
        source, target = self._format(), softfloat.FORMATS[lane]
        return IntBits(lane, (softfloat.resize(source, target, self.lanes[0], _mode(mode)),))

    # --- helpers ------------------------------------------------------------------------------------------
    def _float(self, value: int) -> IntBits:
        return IntBits(self.lane, (value,))

    def _format(self) -> softfloat.Format:
        if self.count != 1 or self.lane not in softfloat.FORMATS:
            raise ValueError(f"float operation on {self.count} x {self.lane} bits")
        return softfloat.FORMATS[self.lane]

    def _scalar_of(self, other: Bits) -> int:
        self._check(other, 1)
        return cast(IntBits, other).lanes[0]

    def _need_scalar(self) -> None:
        if self.count != 1:
            raise ValueError(f"{self.count} lanes where a scalar is needed")

    def _need_wider(self, lane: int) -> None:
        if lane < self.lane:
            raise ValueError(f"extension of {self.lane} bits to {lane}")

    def _check(self, other: Bits, count: int) -> None:
        if other.lane != self.lane or other.count != count:
            raise ValueError(
                f"operand of {other.count} x {other.lane} bits where {count} x {self.lane} is needed"
            )

    def _lanes_of(self, other: Operand) -> tuple[int, ...]:
        if type(other) is int:
            return (other & ((1 << self.lane) - 1),) * self.count
        self._check(cast(Bits, other), self.count)
        return cast(IntBits, other).lanes

    def _pairs(self, other: Operand) -> zip[tuple[int, int]]:
        return zip(self.lanes, self._lanes_of(other), strict=True)

    def _with_amounts(self, amount: Operand) -> zip[tuple[int, int]]:
        if type(amount) is int:
            return zip(self.lanes, (amount,) * self.count, strict=True)
        lanes = cast(IntBits, amount).lanes
        return zip(self.lanes, lanes * self.count if len(lanes) == 1 else lanes, strict=True)

    def _map_signed(self, function: Callable[[int, int], int], other: Operand) -> IntBits:
        mask, signed = (1 << self.lane) - 1, _signer(self.lane)
        return IntBits(
            self.lane, tuple([function(signed(x), signed(y)) & mask for x, y in self._pairs(other)])
        )


def scalar(width: int, value: int) -> IntBits:
    """A scalar of ``width`` bits; ``value`` is reduced modulo ``2**width``."""
    return IntBits(width, (value & ((1 << width) - 1),))


def vector(lane: int, values: Sequence[int]) -> IntBits:
    """Lanes of ``lane`` bits, lane 0 first; values are reduced modulo ``2**lane``."""
    mask = (1 << lane) - 1
    return IntBits(lane, tuple([value & mask for value in values]))


def _signer(lane: int) -> Callable[[int], int]:
    flip = 1 << (lane - 1)
    return lambda x: (x ^ flip) - flip


def _quotient(x: int, y: int) -> int:
    if not y:
        return -1
    quotient = abs(x) // abs(y)
    return quotient if (x < 0) == (y < 0) else -quotient


def _truth(value: bool) -> IntBits:
    return IntBits(1, (int(value),))


def _mode(mode: Operand) -> int:
    return mode if type(mode) is int else cast(IntBits, mode).lanes[0]
