"""Rows of floats in vectors of eight lanes, as LLVM code: for loops that numba leaves scalar.

Every lane does what the scalar function of the same name in this package does, in the same order. Arrays are
C-contiguous; positions count elements of the flat array.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic

from emu.numerics.constants import MINUS_SIX, S8_MAX, SIX
from emu.numerics.quantize import NOT_FINITE_BITS, TINY_BITS
from emu.numerics.vectors import load, shuffled, splat, store

WIDTH: Final = 8
_F32, _I8, _I32, _I64, _BIT = ir.FloatType(), *(ir.IntType(n) for n in (8, 32, 64, 1))
_MAGIC: Final = 12582912.0  # 1.5 * 2^23, see emu.numerics.rounding
_MAGIC_BITS: Final = 0x4B400000
_MAGNITUDE: Final = 0x7FFFFFFF
_STEPS_PER_UNIT: Final = 85.25  # 1023 / 12
_LAST_STEP: Final = 1022

Code = Callable[[ir.IRBuilder, "Lanes", ir.Value], None]


class Lanes:
    """How many lanes a piece of code has: eight, or one for what is left of a row."""

    def __init__(self, count: int) -> None:
        self.count = count

    def of(self, kind: ir.Type) -> ir.Type:
        """A vector of ``kind``, or ``kind``."""
        return ir.VectorType(kind, self.count) if self.count > 1 else kind

    def all(self, kind: ir.Type, value: float) -> ir.Constant:
        """A constant in every lane."""
        return ir.Constant(self.of(kind), [value] * self.count if self.count > 1 else value)

    def splat(self, b: ir.IRBuilder, value: ir.Value) -> ir.Value:
        """A value in every lane."""
        return value if self.count == 1 else splat(b, value, self.count)

    def load(self, b: ir.IRBuilder, pointer: ir.Value, kind: ir.Type) -> ir.Value:
        """Neighbours from a pointer to elements of any type of the same size."""
        return load(b, pointer, self.of(kind))


def _each(b: ir.IRBuilder, n: ir.Value, code: Code) -> None:
    """``code`` for eight elements at a time, then for single ones: positions 0..n-1."""
    whole = b.and_(n, _I64(-WIDTH))
    with cgutils.for_range_slice(b, _I64(0), whole, _I64(WIDTH)) as (k, _):
        code(b, Lanes(WIDTH), k)
    with cgutils.for_range_slice(b, whole, n, _I64(1)) as (k, _):
        code(b, Lanes(1), k)


class _Totals:
    """An int32 for every lane, and one for the single elements."""

    def __init__(self, b: ir.IRBuilder) -> None:
        self._places = {k: cgutils.alloca_once(b, Lanes(k).of(_I32)) for k in (WIDTH, 1)}
        for k, place in self._places.items():
            b.store(Lanes(k).all(_I32, 0), place)

    @contextmanager
    def of(self, b: ir.IRBuilder, lanes: Lanes) -> Iterator[list[ir.Value]]:
        """A list with the present values, to be replaced in place."""
        values = [b.load(self._places[lanes.count])]
        yield values
        b.store(values[0], self._places[lanes.count])

    def both(self, b: ir.IRBuilder, reduction: str) -> tuple[ir.Value, ir.Value]:
        """All lanes by an ``llvm.vector.reduce`` function, and the single elements."""
        vector = b.load(self._places[WIDTH])
        kind = ir.FunctionType(_I32, [vector.type])
        name = f"llvm.vector.reduce.{reduction}.v{WIDTH}i32"
        lanes = b.call(cgutils.get_or_insert_function(b.module, kind, name), [vector])
        return lanes, b.load(self._places[1])


def _larger(b: ir.IRBuilder, x: ir.Value, y: ir.Value) -> ir.Value:
    return b.select(b.icmp_signed(">", x, y), x, y)


def _pointer(context: Any, b: ir.IRBuilder, kind: Any, array: ir.Value, first: ir.Value) -> ir.Value:
    return b.gep(context.make_array(kind)(context, b, array).data, [first])


def _flat(*arrays: Any) -> None:
    for array in arrays:
        if not isinstance(array, types.Array) or array.layout != "C":
            raise TypingError(f"{array} is not a C-contiguous array")


@intrinsic  # type: ignore[untyped-decorator]
def quantize_line(typing: Any, x: Any, x_first: Any, n: Any, q: Any, q_first: Any) -> Any:
    """quantize_row_s8 of n floats of x to int8 in q: (scale, sum of the codes, whether all are finite)."""
    del typing
    _flat(x, q)
    result = types.Tuple((types.float32, types.int32, types.boolean))

    def codegen(context: Any, b: ir.IRBuilder, signature: Any, a: Any) -> ir.Value:
        source = _pointer(context, b, signature.args[0], a[0], a[1])
        target = _pointer(context, b, signature.args[3], a[3], a[4])
        largest = _largest(b, source, a[2])
        scale, total = (cgutils.alloca_once_value(b, kind(0)) for kind in (_F32, _I32))
        finite = b.icmp_signed("<", largest, _I32(NOT_FINITE_BITS))
        b.store(_F32(0.0), scale)
        b.store(_I32(0), total)
        with b.if_else(b.icmp_signed("<", largest, _I32(TINY_BITS))) as (tiny, other):
            with tiny:
                cgutils.memset(b, target, a[2], 0)
            with other, b.if_then(finite):
                top = b.bitcast(largest, _F32)
                b.store(_codes(b, source, target, a[2], b.fdiv(_F32(float(S8_MAX)), top)), total)
                b.store(b.fdiv(top, _F32(float(S8_MAX))), scale)
        return context.make_tuple(b, signature.return_type, (b.load(scale), b.load(total), finite))

    return result(x, types.int64, types.int64, q, types.int64), codegen


def _largest(b: ir.IRBuilder, source: ir.Value, n: ir.Value) -> ir.Value:
    """The largest bit pattern of a magnitude."""
    totals = _Totals(b)

    def code(b: ir.IRBuilder, lanes: Lanes, k: ir.Value) -> None:
        bits = lanes.load(b, b.gep(source, [k]), _I32)
        with totals.of(b, lanes) as value:
            value[0] = _larger(b, value[0], b.and_(bits, lanes.all(_I32, _MAGNITUDE)))

    _each(b, n, code)
    return _larger(b, *totals.both(b, "smax"))


def _codes(b: ir.IRBuilder, source: ir.Value, target: ir.Value, n: ir.Value, inverse: ir.Value) -> ir.Value:
    """Store rne(x * inverse) as int8; their sum."""
    totals = _Totals(b)

    def code(b: ir.IRBuilder, lanes: Lanes, k: ir.Value) -> None:
        x = b.fmul(lanes.load(b, b.gep(source, [k]), _F32), lanes.splat(b, inverse))
        bits = b.bitcast(b.fadd(x, lanes.all(_F32, _MAGIC)), lanes.of(_I32))
        rounded = b.sub(bits, lanes.all(_I32, _MAGIC_BITS))
        store(b, b.trunc(rounded, lanes.of(_I8)), b.gep(target, [k]))
        with totals.of(b, lanes) as value:
            value[0] = b.add(value[0], rounded)

    _each(b, n, code)
    return b.add(*totals.both(b, "add"))


@intrinsic  # type: ignore[untyped-decorator]
def gelu_line(typing: Any, x: Any, x_first: Any, n: Any, table: Any) -> Any:
    """GELU of n floats of x in place; ``table`` float32 [1024][2]: value and slope of each step.

    One load for both, lane by lane: gather instructions fetch the same elements more slowly.
    """
    del typing
    _flat(x, table)

    def codegen(context: Any, b: ir.IRBuilder, signature: Any, a: Any) -> ir.Value:
        source = _pointer(context, b, signature.args[0], a[0], a[1])
        pairs = _pointer(context, b, signature.args[3], a[3], _I64(0))

        def code(b: ir.IRBuilder, lanes: Lanes, k: ir.Value) -> None:
            h = lanes.load(b, b.gep(source, [k]), _F32)
            store(b, _gelu(b, lanes, h, pairs), b.gep(source, [k]))

        _each(b, a[2], code)
        return context.get_dummy_value()

    return types.void(x, types.int64, types.int64, table), codegen


def _gelu(b: ir.IRBuilder, lanes: Lanes, h: ir.Value, pairs: ir.Value) -> ir.Value:
    low, high = lanes.all(_F32, float(MINUS_SIX)), lanes.all(_F32, float(SIX))
    above = b.fcmp_ordered(">", h, low)
    inside = b.select(above, h, low)
    inside = b.select(b.fcmp_ordered("<", inside, high), inside, high)
    p = b.fmul(b.fadd(inside, high), lanes.all(_F32, _STEPS_PER_UNIT))
    step, last = b.fptosi(p, lanes.of(_I32)), lanes.all(_I32, _LAST_STEP)
    step = b.select(b.icmp_signed("<", step, last), step, last)
    value, slope = _looked_up(b, lanes, step, pairs)
    y = b.fadd(value, b.fmul(slope, b.fsub(p, b.sitofp(step, lanes.of(_F32)))))
    y = b.select(above, y, lanes.all(_F32, 0.0))
    y = b.select(b.fcmp_ordered(">=", h, high), h, y)
    return b.select(b.fcmp_ordered("==", h, h), y, h)


def _looked_up(b: ir.IRBuilder, lanes: Lanes, step: ir.Value, pairs: ir.Value) -> tuple[ir.Value, ir.Value]:
    two = ir.VectorType(_F32, 2)

    def pair(index: ir.Value) -> ir.Value:
        place = b.gep(pairs, [b.mul(b.zext(index, _I64), _I64(2))])
        loaded = b.load(b.bitcast(place, two.as_pointer()))
        loaded.align = 4
        return loaded

    if lanes.count == 1:
        found = pair(step)
        return b.extract_element(found, _I32(0)), b.extract_element(found, _I32(1))
    found = [pair(b.extract_element(step, _I32(k))) for k in (0, 1, 4, 5, 2, 3, 6, 7)]
    while len(found) > 2:  # pairs to fours, fours to eights
        found = [
            shuffled(b, x, y, range(2 * x.type.count)) for x, y in zip(found[::2], found[1::2], strict=True)
        ]
    even = (0, 2, 8, 10, 4, 6, 12, 14)
    low, high = found
    return shuffled(b, low, high, even), shuffled(b, low, high, [k + 1 for k in even])


@intrinsic  # type: ignore[untyped-decorator]
def eight_sums(
    typing: Any, x: Any, first: Any, stride: Any, n: Any, minus: Any, sums: Any, row: Any, square: Any
) -> Any:
    """sums[row + r] = ascending sum of x[r][c] - minus[row + r], squared where ``square``, for eight rows.

    Rows of n columns, a multiple of 8, ``stride`` apart. A lane is a row, so that nobody waits for one sum.
    """
    del typing
    _flat(x, minus, sums)

    def codegen(context: Any, b: ir.IRBuilder, signature: Any, a: Any) -> ir.Value:
        lanes = Lanes(WIDTH)
        source = _pointer(context, b, signature.args[0], a[0], a[1])
        less = lanes.load(b, _pointer(context, b, signature.args[4], a[4], a[6]), _F32)
        total = cgutils.alloca_once(b, lanes.of(_F32))
        b.store(lanes.all(_F32, 0.0), total)
        with cgutils.for_range_slice(b, _I64(0), a[3], _I64(WIDTH)) as (k, _):
            rows = [b.gep(source, [b.add(k, b.mul(a[2], _I64(r)))]) for r in range(WIDTH)]
            value = b.load(total)
            for column in _transposed(b, [lanes.load(b, row, _F32) for row in rows]):
                d = b.fsub(column, less)
                value = b.fadd(value, b.select(a[7], b.fmul(d, d), d))
            b.store(value, total)
        store(b, b.load(total), _pointer(context, b, signature.args[5], a[5], a[6]))
        return context.get_dummy_value()

    i = types.int64
    return types.void(x, i, i, i, minus, sums, i, types.boolean), codegen


def _transposed(b: ir.IRBuilder, rows: list[ir.Value]) -> list[ir.Value]:
    """The eight columns of eight rows of eight: singles, pairs, then halves change places."""

    def both(x: ir.Value, y: ir.Value, low: tuple[int, ...], high: tuple[int, ...]) -> list[ir.Value]:
        return [shuffled(b, x, y, low), shuffled(b, x, y, high)]

    pairs, fours = [], []
    for k in (0, 2, 4, 6):
        pairs += both(rows[k], rows[k + 1], (0, 8, 1, 9, 4, 12, 5, 13), (2, 10, 3, 11, 6, 14, 7, 15))
    for k in (0, 1, 4, 5):
        fours += both(pairs[k], pairs[k + 2], (0, 1, 8, 9, 4, 5, 12, 13), (2, 3, 10, 11, 6, 7, 14, 15))
    halves = [
        both(fours[k], fours[k + 4], (0, 1, 2, 3, 8, 9, 10, 11), (4, 5, 6, 7, 12, 13, 14, 15))
        for k in range(4)
    ]
    return [low for low, _ in halves] + [high for _, high in halves]
