"""Values as LLVM instructions: what the translator computes with.

The text goes to an :class:`~emu.cpu.translator.emitter.Emitter`. Constants are folded by the reference
implementation itself (:mod:`emu.cpu.value_int`). A value remembers which of its bits are known to be 0, so
that guards which cannot fail are not written at all, and every shape in which it has been seen, so that
splitting and joining back costs nothing.

LLVM leaves some results undefined that :class:`~emu.cpu.values.Bits` defines (oversized shifts, division by
0, NaN payloads); all of them are guarded here. What LLVM's code generator cannot do is refused: shifts of
more than 256 bits, division of more than 64, rounding other than to nearest even.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from emu.cpu.translator.emitter import Emitter, constant, type_name
from emu.cpu.value_int import IntBits
from emu.cpu.values import Bits, Operand

_FLOATS = {32: "float", 64: "double"}
_QUIET_NAN = {32: 0x7FC00000, 64: 0x7FF8000000000000}
_WIDEST_SHIFT = 256
_WIDEST_DIVISION = 64
_ROUNDINGS = {"even": "roundeven", "zero": "trunc", "up": "ceil", "down": "floor"}


class IrBits(Bits):
    """`count` lanes of `lane` bits held in LLVM values of one function.

    `folded` is set for constants. `zeros` is a mask of the bits known to be 0 in every lane. `_seen` maps
    a lane width to the LLVM name of these bits in that shape, shared by all views of the value.
    `_float` is a float that arithmetic may use for it: the same bits where `_is_exact`, else the result of an
    operation before its NaN was made canonical.
    """

    __slots__ = ("_float", "_is_exact", "_seen", "count", "em", "folded", "lane", "zeros")

    def __init__(self, em: Emitter, lane: int, count: int, seen: dict[int, str], zeros: int = 0) -> None:
        self.em = em
        self.lane = lane
        self.count = count
        self._seen = seen
        self.zeros = zeros
        self.folded: IntBits | None = None
        self._float: str | None = None
        self._is_exact = False

    # --- making values ------------------------------------------------------------
    @classmethod
    def of(cls, em: Emitter, lane: int, count: int, name: str, zeros: int = 0) -> IrBits:
        """A value that LLVM knows as `name`."""
        return cls(em, lane, count, {lane: name}, zeros)

    @classmethod
    def constant(cls, em: Emitter, value: IntBits) -> IrBits:
        """A constant."""
        lane = value.lane
        made = cls(em, lane, value.count, {lane: constant(lane, value.lanes)}, _zeros_of(value))
        made.folded = value
        return made

    @classmethod
    def of_float(cls, em: Emitter, name: str, lane: int = 32) -> IrBits:
        """A scalar that LLVM knows as the float `name`."""
        made = cls(em, lane, 1, {})
        made._float, made._is_exact = name, True
        return made

    def _scalar(self, lane: int, value: int) -> IrBits:
        return IrBits.constant(self.em, IntBits(lane, (value & ((1 << lane) - 1),)))

    def _new(self, text: str, lane: int = 0, count: int = 0, zeros: int = 0) -> IrBits:
        lane = lane or self.lane
        return IrBits(self.em, lane, count or self.count, {lane: self.em.value(text)}, zeros)

    def _as_ir(self, other: Operand) -> IrBits:
        """`other` in this shape."""
        if type(other) is int:
            mask = (1 << self.lane) - 1
            return IrBits.constant(self.em, IntBits(self.lane, (other & mask,) * self.count))
        self._check(cast(Bits, other), self.count)
        return cast(IrBits, other)

    def _check(self, other: Bits, count: int) -> None:
        if other.lane != self.lane or other.count != count:
            raise ValueError(
                f"operand of {other.count} x {other.lane} bits where {count} x {self.lane} is needed"
            )

    def _need_scalar(self) -> None:
        if self.count != 1:
            raise ValueError(f"{self.count} lanes where a scalar is needed")

    def _need_at_most(self, width: int) -> None:
        if self.lane > width:
            raise ValueError(f"operation on {self.lane} bits, translated for at most {width}")

    # --- LLVM side ------------------------------------------------------------------------------------
    @property
    def type(self) -> str:
        """LLVM type."""
        return type_name(self.lane, self.count)

    @property
    def name(self) -> str:
        """LLVM name in this shape, made by a bitcast where this shape is new."""
        name = self._seen.get(self.lane)
        if name is None:
            if not self._seen:
                return self._bits_of_float()
            lane, other = next(iter(self._seen.items()))
            source = type_name(lane, self.width // lane)
            name = self._seen[self.lane] = self.em.value(f"bitcast {source} {other} to {self.type}")
        return name

    def _bits_of_float(self) -> str:
        kind, em = _FLOATS[self.lane], self.em
        name = em.value(f"bitcast {kind} {self._float} to i{self.lane}")
        if not self._is_exact:
            is_nan = em.value(f"fcmp uno {kind} {self._float}, 0.0")
            nan = _QUIET_NAN[self.lane]
            name = em.value(f"select i1 {is_nan}, i{self.lane} {nan}, i{self.lane} {name}")
        self._seen[self.lane] = name
        return name

    @property
    def raw_float(self) -> str:
        """LLVM name of the float that an operation gave, NaN where the value is NaN; "" for other values."""
        return "" if self._is_exact or self._float is None else self._float

    @property
    def float_if_known(self) -> str:
        """LLVM name of the float that arithmetic uses for the value; "" where none has been made."""
        return self._float or ""

    def float_name(self) -> str:
        """LLVM name of a float with exactly these bits."""
        if not self._is_exact:
            return self.em.value(f"bitcast {self.typed} to {_FLOATS[self.lane]}")
        return cast(str, self._float)

    @property
    def typed(self) -> str:
        """Type and name."""
        return f"{self.type} {self.name}"

    @property
    def value(self) -> int | None:
        """The whole value of a constant, else None."""
        return None if self.folded is None else self.folded.unsigned()

    @property
    def most(self) -> int:
        """An upper bound of each unsigned lane."""
        return ((1 << self.lane) - 1) & ~self.zeros

    @property
    def known_alignment(self) -> int:
        """The largest power of two known to divide each lane."""
        free = self.most
        return free & -free if free else 1 << self.lane

    # --- shape ------------------------------------------------------------
    def split(self, lane: int) -> IrBits:
        """See :meth:`Bits.split`."""
        if lane == self.lane:
            return self
        if self.width % lane:
            raise ValueError(f"{self.width} bits do not split into lanes of {lane}")
        if self.folded is not None:
            return IrBits.constant(self.em, self.folded.split(lane))
        if not self._seen:
            self._bits_of_float()
        return IrBits(self.em, lane, self.width // lane, self._seen)

    def get(self, index: int) -> IrBits:
        """See :meth:`Bits.get`."""
        if self.folded is not None:
            return IrBits.constant(self.em, self.folded.get(index))
        if self.count == 1:
            return self
        return self._new(f"extractelement {self.typed}, i32 {index}", count=1, zeros=self.zeros)

    def put(self, index: int, value: Operand) -> IrBits:
        """See :meth:`Bits.put`."""
        if type(value) is int:
            value = self._scalar(self.lane, value)
        self._check(cast(Bits, value), 1)
        if self.count == 1:
            return cast(IrBits, value)
        return self._new(f"insertelement {self.typed}, {cast(IrBits, value).typed}, i32 {index}")

    def shuffle(self, other: Bits, indices: Sequence[int]) -> IrBits:
        """See :meth:`Bits.shuffle`."""
        b = self._as_ir(other)
        if self.folded is not None and b.folded is not None:
            return IrBits.constant(self.em, self.folded.shuffle(b.folded, indices))
        if self.count == 1:
            return self._gather([(self, b)[i] for i in indices])
        if len(indices) == 1:
            at = indices[0]
            return self.get(at) if at < self.count else b.get(at - self.count)
        mask = ", ".join(f"i32 {i}" for i in indices)
        text = f"shufflevector {self.typed}, {b.typed}, <{len(indices)} x i32> <{mask}>"
        return self._new(text, count=len(indices), zeros=self.zeros & b.zeros)

    def _gather(self, parts: Sequence[IrBits]) -> IrBits:
        """Scalars as the lanes of a vector."""
        if len(parts) == 1:
            return parts[0]
        kind, name = type_name(self.lane, len(parts)), "poison"
        for i, part in enumerate(parts):
            name = self.em.value(f"insertelement {kind} {name}, {part.typed}, i32 {i}")
        return IrBits.of(self.em, self.lane, len(parts), name)

    def broadcast(self, count: int) -> IrBits:
        """See :meth:`Bits.broadcast`."""
        self._need_scalar()
        if count == 1:
            return self
        if self.folded is not None:
            return IrBits.constant(self.em, self.folded.broadcast(count))
        kind = type_name(self.lane, count)
        first = self.em.value(f"insertelement {kind} poison, {self.typed}, i32 0")
        text = f"shufflevector {kind} {first}, {kind} poison, <{count} x i32> zeroinitializer"
        return self._new(text, count=count, zeros=self.zeros)

    def bits(self, high: int, low: int) -> IrBits:
        """See :meth:`Bits.bits`."""
        self._need_scalar()
        if not 0 <= low <= high < self.lane:
            raise ValueError(f"bits {high}..{low} of a value of {self.lane} bits")
        width = high - low + 1
        if width in self._seen and width != self.lane and low % width == 0:
            return self.split(width).get(low // width)
        return self.lshr(low).trunc(width)

    def cat(self, low: Bits) -> IrBits:
        """See :meth:`Bits.cat`."""
        below = cast(IrBits, low)
        self._need_scalar()
        below._need_scalar()
        width = self.lane + below.lane
        return self.zext(width).shl(below.lane) | below.zext(width)

    def sext(self, lane: int) -> IrBits:
        """See :meth:`Bits.sext`."""
        if lane > self.lane and self.zeros >> (self.lane - 1):
            return self.zext(lane)
        return self._resize("sext", lane)

    def zext(self, lane: int) -> IrBits:
        """See :meth:`Bits.zext`."""
        grown = self._resize("zext", lane)
        if grown is not self and grown.folded is None:
            grown.zeros = self.zeros | (1 << lane) - (1 << self.lane)
        return grown

    def trunc(self, lane: int) -> IrBits:
        """See :meth:`Bits.trunc`."""
        cut = self._resize("trunc", lane)
        if cut is not self and cut.folded is None:
            cut.zeros = self.zeros & ((1 << lane) - 1)
        return cut

    def _resize(self, how: str, lane: int) -> IrBits:
        if lane == self.lane:
            return self
        if (lane < self.lane) != (how == "trunc"):
            raise ValueError(f"{how} of {self.lane} bits to {lane}")
        if self.folded is not None:
            return IrBits.constant(self.em, getattr(self.folded, how)(lane))
        return self._new(f"{how} {self.typed} to {type_name(lane, self.count)}", lane=lane)

    # --- integer arithmetic ------------------------------------------------------------
    def _binary(self, opcode: str, method: str, other: Operand) -> IrBits:
        b = self._as_ir(other)
        if self.folded is not None and b.folded is not None:
            return IrBits.constant(self.em, getattr(self.folded, method)(b.folded))
        return self._new(f"{opcode} {self.typed}, {b.name}")

    def __add__(self, other: Operand) -> IrBits:
        b = self._as_ir(other)
        if b.value == 0:
            return self
        total = self._binary("add", "__add__", b)
        if total.folded is None:
            total.zeros = min(self.known_alignment, b.known_alignment) - 1
        return total

    def __sub__(self, other: Operand) -> IrBits:
        b = self._as_ir(other)
        return self if b.value == 0 else self._binary("sub", "__sub__", b)

    def __mul__(self, other: Operand) -> IrBits:
        return self._binary("mul", "__mul__", other)

    def __and__(self, other: Operand) -> IrBits:
        b = self._as_ir(other)
        if b.folded is not None and not self.most & ~min(b.folded.lanes) and len(set(b.folded.lanes)) == 1:
            return self
        both = self._binary("and", "__and__", b)
        if both.folded is None:
            both.zeros = self.zeros | b.zeros
        return both

    def __or__(self, other: Operand) -> IrBits:
        b = self._as_ir(other)
        if b.value == 0:
            return self
        either = self._binary("or", "__or__", b)
        if either.folded is None:
            either.zeros = self.zeros & b.zeros
        return either

    def __xor__(self, other: Operand) -> IrBits:
        b = self._as_ir(other)
        if b.value == 0:
            return self
        mixed = self._binary("xor", "__xor__", b)
        if mixed.folded is None:
            mixed.zeros = self.zeros & b.zeros
        return mixed

    def __invert__(self) -> IrBits:
        return self._binary("xor", "__xor__", -1)

    def __neg__(self) -> IrBits:
        return self._as_ir(0) - self

    def _amounts(self, amount: Operand) -> IrBits | int:
        """A shift amount in this value's shape, cut at `lane` where it may be larger; or a Python int."""
        if type(amount) is int:
            return amount
        n = cast(IrBits, amount)
        if n.folded is not None and len(set(n.folded.lanes)) == 1:
            return n.folded.lanes[0]
        if n.count not in (1, self.count):
            raise ValueError(f"{n.count} shift amounts for {self.count} lanes")
        if n.lane > self.lane:
            n = (n if n.most <= self.lane else n.umin(self.lane)).trunc(self.lane)
        n = n.zext(self.lane)
        return n.broadcast(self.count) if n.count != self.count else n

    def _shift(self, opcode: str, amount: Operand) -> IrBits:
        """Logical shifts: 0 where the amount is too large."""
        self._need_at_most(_WIDEST_SHIFT)
        n = self._amounts(amount)
        if type(n) is int:
            if not 0 <= n < self.lane:
                return self._as_ir(0)
            return self._binary(opcode, opcode, n) if n else self
        count = cast(IrBits, n)
        safe = count.most < self.lane
        if self.folded is not None and count.folded is not None:
            return IrBits.constant(self.em, getattr(self.folded, opcode)(count.folded))
        moved = self._new(f"{opcode} {self.typed}, {count.name}")
        return moved if safe else count.ult(self.lane).select(moved, 0)

    def shl(self, amount: Operand) -> IrBits:
        """See :meth:`Bits.shl`."""
        moved = self._shift("shl", amount)
        if type(amount) is int and 0 < amount < self.lane and moved.folded is None:
            moved.zeros = (self.zeros << amount | (1 << amount) - 1) & ((1 << self.lane) - 1)
        return moved

    def lshr(self, amount: Operand) -> IrBits:
        """See :meth:`Bits.lshr`."""
        moved = self._shift("lshr", amount)
        if type(amount) is int and 0 < amount < self.lane and moved.folded is None:
            top = (1 << self.lane) - (1 << (self.lane - amount))
            moved.zeros = self.zeros >> amount | top
        return moved

    def ashr(self, amount: Operand) -> IrBits:
        """See :meth:`Bits.ashr`."""
        self._need_at_most(_WIDEST_SHIFT)
        n = self._amounts(amount)
        if type(n) is int:
            n = n if 0 <= n < self.lane else self.lane - 1
            return self._binary("ashr", "ashr", n) if n else self
        count = cast(IrBits, n)
        if count.most >= self.lane:
            count = count.umin(self.lane - 1)
        return self._binary("ashr", "ashr", count)

    def udiv(self, other: Operand) -> IrBits:
        """See :meth:`Bits.udiv`."""
        return self._divide("udiv", other, self._as_ir(-1))

    def urem(self, other: Operand) -> IrBits:
        """See :meth:`Bits.urem`."""
        return self._divide("urem", other, self)

    def sdiv(self, other: Operand) -> IrBits:
        """See :meth:`Bits.sdiv`."""
        return self._divide("sdiv", other, self._as_ir(-1))

    def srem(self, other: Operand) -> IrBits:
        """See :meth:`Bits.srem`."""
        return self._divide("srem", other, self)

    def _divide(self, opcode: str, other: Operand, by_zero: IrBits) -> IrBits:
        """LLVM's division with a divisor that cannot trap: 0 is replaced by 1, and so is the -1 of MIN /
        -1.
        """
        self._need_at_most(_WIDEST_DIVISION)
        b = self._as_ir(other)
        if self.folded is not None and b.folded is not None:
            return IrBits.constant(self.em, getattr(self.folded, opcode)(b.folded))
        is_zero = b.eq(0)
        bad = is_zero
        if opcode[0] == "s":
            bad = bad | (b.eq(-1) & self.eq(1 << (self.lane - 1)))
        result = self._new(f"{opcode} {self.typed}, {bad.select(b._as_ir(1), b).name}")
        return is_zero.select(by_zero, result)

    def _unary(self, function: str, method: str, tail: str = "") -> IrBits:
        if self.folded is not None:
            return IrBits.constant(self.em, getattr(self.folded, method)())
        kind = self.type
        types = (kind, "i1") if tail else (kind,)
        suffix = f"i{self.lane}" if self.count == 1 else f"v{self.count}i{self.lane}"
        name = self.em.call(kind, f"llvm.{function}.{suffix}", types, self.typed + tail)
        return IrBits.of(self.em, self.lane, self.count, name)

    def clz(self) -> IrBits:
        """See :meth:`Bits.clz`."""
        return self._unary("ctlz", "clz", ", i1 false")

    def reverse(self) -> IrBits:
        """See :meth:`Bits.reverse`."""
        return self if self.lane == 1 else self._unary("bitreverse", "reverse")

    def sum_lanes(self) -> IrBits:
        """See :meth:`Bits.sum_lanes`."""
        if self.count == 1:
            return self
        if self.folded is not None:
            return IrBits.constant(self.em, self.folded.sum_lanes())
        function = f"llvm.vector.reduce.add.v{self.count}i{self.lane}"
        name = self.em.call(f"i{self.lane}", function, (self.type,), self.typed)
        return IrBits.of(self.em, self.lane, 1, name)

    # --- comparison and choice ------------------------------------------------------------
    def _compare(self, relation: str, method: str, other: Operand) -> IrBits:
        b = self._as_ir(other)
        if self.folded is not None and b.folded is not None:
            return IrBits.constant(self.em, getattr(self.folded, method)(b.folded))
        return self._new(f"icmp {relation} {self.typed}, {b.name}", lane=1)

    def eq(self, other: Operand) -> IrBits:
        """See :meth:`Bits.eq`."""
        return self._compare("eq", "eq", other)

    def ne(self, other: Operand) -> IrBits:
        """See :meth:`Bits.ne`."""
        return self._compare("ne", "ne", other)

    def ult(self, other: Operand) -> IrBits:
        """See :meth:`Bits.ult`."""
        return self._compare("ult", "ult", other)

    def slt(self, other: Operand) -> IrBits:
        """See :meth:`Bits.slt`."""
        return self._compare("slt", "slt", other)

    def select(self, then: Bits, otherwise: Operand) -> IrBits:
        """See :meth:`Bits.select`."""
        if self.lane != 1:
            raise ValueError(f"select on lanes of {self.lane} bits, not 1")
        a = cast(IrBits, then)
        b = a._as_ir(otherwise)
        if self.count not in (1, a.count):
            raise ValueError(f"{self.count} conditions for {a.count} lanes")
        if self.folded is not None and len(set(self.folded.lanes)) == 1:
            return a if self.folded.lanes[0] else b
        chosen = a._new(f"select {self.typed}, {a.typed}, {b.typed}")
        chosen.zeros = a.zeros & b.zeros
        return chosen

    def _extreme(self, function: str, other: Operand) -> IrBits:
        b = self._as_ir(other)
        if self.folded is not None and b.folded is not None:
            return IrBits.constant(self.em, getattr(self.folded, function)(b.folded))
        suffix = f"i{self.lane}" if self.count == 1 else f"v{self.count}i{self.lane}"
        kind = self.type
        name = self.em.call(kind, f"llvm.{function}.{suffix}", (kind, kind), f"{self.typed}, {b.typed}")
        return IrBits.of(self.em, self.lane, self.count, name)

    def smin(self, other: Operand) -> IrBits:
        """Smaller of two signed lanes."""
        return self._extreme("smin", other)

    def smax(self, other: Operand) -> IrBits:
        """Larger of two signed lanes."""
        return self._extreme("smax", other)

    def umin(self, other: Operand) -> IrBits:
        """Smaller of two unsigned lanes."""
        return self._extreme("umin", other)

    def umax(self, other: Operand) -> IrBits:
        """Larger of two unsigned lanes."""
        return self._extreme("umax", other)

    # --- floats: round to nearest even only ----------------------------------------------------------------
    def _as_float(self) -> str:
        """LLVM name of the value as a float; not canonical if it comes from an operation, see the class."""
        if self.count != 1 or self.lane not in _FLOATS:
            raise ValueError(f"float operation on {self.count} x {self.lane} bits")
        if self._float is None:
            self._float = self.em.value(f"bitcast {self.typed} to {_FLOATS[self.lane]}")
            self._is_exact = True
        return self._float

    def _canonical(self, text: str, lane: int) -> IrBits:
        """A float result; every NaN becomes the one that Bits defines, where the bits are asked for.

        Arithmetic on the result may use the raw float: a NaN stays a NaN whatever its payload.
        """
        result = IrBits(self.em, lane, 1, {})
        result._float = self.em.value(text)
        return result

    def _float_binary(self, opcode: str, other: Bits, mode: Operand) -> IrBits:
        _need_nearest(mode)
        self._check(other, 1)
        a, b = self._as_float(), cast(IrBits, other)._as_float()
        return self._canonical(f"{opcode} {_FLOATS[self.lane]} {a}, {b}", self.lane)

    def fadd(self, other: Bits, mode: Operand = 0) -> IrBits:
        """See :meth:`Bits.fadd`."""
        return self._float_binary("fadd", other, mode)

    def fsub(self, other: Bits, mode: Operand = 0) -> IrBits:
        """See :meth:`Bits.fsub`."""
        return self._float_binary("fsub", other, mode)

    def fmul(self, other: Bits, mode: Operand = 0) -> IrBits:
        """See :meth:`Bits.fmul`."""
        return self._float_binary("fmul", other, mode)

    def fma(self, factor: Bits, addend: Bits, mode: Operand = 0) -> IrBits:
        """See :meth:`Bits.fma`."""
        _need_nearest(mode)
        self._check(factor, 1)
        self._check(addend, 1)
        kind = _FLOATS[self.lane]
        parts = (self, cast(IrBits, factor), cast(IrBits, addend))
        arguments = ", ".join(f"{kind} {part._as_float()}" for part in parts)
        function = f"llvm.fma.f{self.lane}"
        self.em.declarations.add(f"declare {kind} @{function}({kind}, {kind}, {kind})")
        return self._canonical(f"call {kind} @{function}({arguments})", self.lane)

    def _float_compare(self, relation: str, other: Bits) -> IrBits:
        self._check(other, 1)
        a, b = self._as_float(), cast(IrBits, other)._as_float()
        return self._new(f"fcmp {relation} {_FLOATS[self.lane]} {a}, {b}", lane=1)

    def feq(self, other: Bits) -> IrBits:
        """See :meth:`Bits.feq`."""
        return self._float_compare("oeq", other)

    def flt(self, other: Bits) -> IrBits:
        """See :meth:`Bits.flt`."""
        return self._float_compare("olt", other)

    def funordered(self, other: Bits) -> IrBits:
        """See :meth:`Bits.funordered`."""
        return self._float_compare("uno", other)

    def fround(self, how: str) -> IrBits:
        """See :meth:`Bits.fround`."""
        name, kind = self._as_float(), _FLOATS[self.lane]
        function = f"llvm.{_ROUNDINGS[how]}.f{self.lane}"
        self.em.declarations.add(f"declare {kind} @{function}({kind})")
        return self._canonical(f"call {kind} @{function}({kind} {name})", self.lane)

    def f_to_s(self, bits: int) -> IrBits:
        """See :meth:`Bits.f_to_s`."""
        return self._to_int("fptosi", bits)

    def f_to_u(self, bits: int) -> IrBits:
        """See :meth:`Bits.f_to_u`."""
        return self._to_int("fptoui", bits)

    def _to_int(self, how: str, bits: int) -> IrBits:
        name, kind = self._as_float(), _FLOATS[self.lane]
        function = f"llvm.{how}.sat.i{bits}.f{self.lane}"
        return IrBits.of(self.em, bits, 1, self.em.call(f"i{bits}", function, (kind,), f"{kind} {name}"))

    def s_to_f(self, lane: int = 32, mode: Operand = 0) -> IrBits:
        """See :meth:`Bits.s_to_f`."""
        return self._from_int("sitofp", lane, mode)

    def u_to_f(self, lane: int = 32, mode: Operand = 0) -> IrBits:
        """See :meth:`Bits.u_to_f`."""
        return self._from_int("uitofp", lane, mode)

    def _from_int(self, how: str, lane: int, mode: Operand) -> IrBits:
        _need_nearest(mode)
        self._need_scalar()
        return self._canonical(f"{how} {self.typed} to {_FLOATS[lane]}", lane)

    def f_resize(self, lane: int, mode: Operand = 0) -> IrBits:
        """See :meth:`Bits.f_resize`."""
        _need_nearest(mode)
        if lane == self.lane:
            return self._canonical(f"fadd {_FLOATS[lane]} {self._as_float()}, -0.0", lane)
        how = "fpext" if lane > self.lane else "fptrunc"
        return self._canonical(f"{how} {_FLOATS[self.lane]} {self._as_float()} to {_FLOATS[lane]}", lane)


def scalar(em: Emitter, width: int, value: int) -> IrBits:
    """A constant scalar of `width` bits."""
    return IrBits.constant(em, IntBits(width, (value & ((1 << width) - 1),)))


def _zeros_of(value: IntBits) -> int:
    used = 0
    for lane in value.lanes:
        used |= lane
    return ((1 << value.lane) - 1) & ~used


def _need_nearest(mode: Operand) -> None:
    known = mode if type(mode) is int else cast(IrBits, mode).value
    if known != 0:
        raise ValueError("translated float operations round to nearest even only")
