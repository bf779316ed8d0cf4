"""AMX: one instruction adds 64 columns to the sums of 16 rows and 16 outputs, without saturation.

Tiles 0 to 3 hold the sums of 2 x 2 groups (16 rows, a block of 16 outputs), 4 and 5 activations, 6 and 7
weights: a packed block is a tile of weights as it stands. Rows and columns that do not fill a tile are added
under a configuration of smaller tiles, so that no byte outside the operands is read. Tiles belong to a thread
and are released at the end; :mod:`emu.numerics.gemm.variant` has asked Linux for them, for the whole process.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import carray, types
from numba.core import cgutils
from numba.extending import intrinsic

from emu.numerics.gemm.packing import BLOCK_STEP, DEPTH, LANES
from emu.numerics.gemm.tile import I8, I64, call
from emu.numerics.jit import jit

_ROWS = 16
"""Rows of the largest tile."""
_ROW_BYTES = 64
_SUMS, _ACTIVATIONS, _WEIGHTS = 0, 4, 6
"""First tile of each kind."""
_I16, _VOID = ir.IntType(16), ir.VoidType()


def _tile(b: ir.IRBuilder, name: str, *arguments: Any) -> None:
    """A tile instruction; Python integers are tile numbers."""
    values = [I8(a) if isinstance(a, int) else a for a in arguments]
    call(b, f"llvm.x86.{name}", _VOID, values)


@intrinsic  # type: ignore[untyped-decorator]
def _configure(typing: Any, rows: Any, steps: Any) -> Any:
    """Tiles for ``rows`` rows (1..32) and ``steps`` steps of four columns (1..16); clears all tiles."""
    del typing
    return types.void(rows, steps), _configure_code


def _configure_code(context: Any, b: ir.IRBuilder, _signature: Any, arguments: Any) -> ir.Value:
    rows, steps = arguments
    full = I64(_ROWS)
    first = b.select(b.icmp_signed("<", rows, full), rows, full)
    rest = b.sub(rows, full)
    second = b.select(b.icmp_signed(">", rest, I64(0)), rest, I64(1))  # unused then, but no tile may be empty
    width = b.mul(steps, I64(DEPTH))
    shapes = [(first, I64(_ROW_BYTES))] * 2 + [(second, I64(_ROW_BYTES))] * 2
    shapes += [(first, width), (second, width)] + [(steps, I64(_ROW_BYTES))] * 2
    kind = ir.ArrayType(I8, 64)
    block = cgutils.alloca_once(b, kind)
    b.store(kind(None), block)
    base = b.bitcast(block, I8.as_pointer())
    b.store(I8(1), base)  # palette 1: eight tiles of 16 x 64 bytes
    for tile, (height, row_bytes) in enumerate(shapes):
        place = b.bitcast(b.gep(base, [I64(16 + 2 * tile)]), _I16.as_pointer())
        b.store(b.trunc(row_bytes, _I16), place)
        b.store(b.trunc(height, I8), b.gep(base, [I64(48 + tile)]))
    _tile(b, "ldtilecfg", base)
    return context.get_dummy_value()


@intrinsic  # type: ignore[untyped-decorator]
def _release(typing: Any) -> Any:
    """Tiles back to their initial state, so that the system need not keep them for this thread."""
    del typing

    def code(context: Any, b: ir.IRBuilder, _signature: Any, _arguments: Any) -> ir.Value:
        _tile(b, "tilerelease")
        return context.get_dummy_value()

    return types.void(), code


def _make_add(row_tiles: int, block_tiles: int) -> Any:
    """Code that adds columns to the sums of ``row_tiles`` x ``block_tiles`` tiles."""

    @intrinsic  # type: ignore[untyped-decorator]
    def add(
        typing: Any, x: Any, xp: Any, xs: Any, w: Any, wp: Any, ws: Any, acc: Any, ap: Any, az: Any, n: Any
    ) -> Any:
        del typing

        def code(context: Any, b: ir.IRBuilder, _signature: Any, a: Any) -> ir.Value:
            _emit_add(b, row_tiles, block_tiles, *a)
            return context.get_dummy_value()

        return types.void(x, xp, xs, w, wp, ws, acc, ap, az, n), code

    return add


def _emit_add(
    b: ir.IRBuilder,
    row_tiles: int,
    block_tiles: int,
    x: ir.Value,
    x_first: ir.Value,
    x_stride: ir.Value,
    w: ir.Value,
    w_first: ir.Value,
    w_stride: ir.Value,
    acc: ir.Value,
    acc_first: ir.Value,
    acc_stride: ir.Value,
    repeats: ir.Value,
) -> None:
    """``repeats`` instructions a tile of sums; pointers, positions and strides in elements."""

    def at(base: ir.Value, *offsets: ir.Value) -> ir.Value:
        for offset in offsets:
            base = b.gep(base, [offset])
        return b.bitcast(base, I8.as_pointer())

    acc_bytes = b.mul(acc_stride, I64(4))
    sums = {
        (r, v): at(acc, acc_first, b.mul(acc_stride, I64(_ROWS * r)), I64(LANES * v))
        for r in range(row_tiles)
        for v in range(block_tiles)
    }
    for (r, v), place in sums.items():
        _tile(b, "tileloadd64", _SUMS + 2 * r + v, place, acc_bytes)
    with cgutils.for_range(b, repeats, intp=I64) as loop:
        for r in range(row_tiles):
            column = b.mul(loop.index, I64(_ROW_BYTES))
            place = at(x, x_first, b.mul(x_stride, I64(_ROWS * r)), column)
            _tile(b, "tileloadd64", _ACTIVATIONS + r, place, x_stride)
        for v in range(block_tiles):
            step = b.mul(loop.index, I64(_ROWS * BLOCK_STEP))
            place = at(w, w_first, b.mul(w_stride, I64(v)), step)
            _tile(b, "tileloadd64", _WEIGHTS + v, place, I64(_ROW_BYTES))
        for r, v in sums:
            _tile(b, "tdpbsud", _SUMS + 2 * r + v, _ACTIVATIONS + r, _WEIGHTS + v)
    for (r, v), place in sums.items():
        _tile(b, "tilestored64", _SUMS + 2 * r + v, place, acc_bytes)


_add_1x1, _add_1x2, _add_2x1, _add_2x2 = (_make_add(r, v) for r in (1, 2) for v in (1, 2))


@jit
def _add_columns(
    x: Any,
    x_first: Any,
    x_stride: Any,
    rows: Any,
    w: Any,
    w_first: Any,
    w_stride: Any,
    blocks: Any,
    acc: Any,
    acc_first: Any,
    acc_stride: Any,
    steps: Any,
    repeats: Any,
) -> None:
    """Add ``repeats`` times ``steps`` steps (1..16) to the sums of ``rows`` rows (1..32) and all blocks."""
    _configure(rows, steps)
    for v in range(0, blocks - 1, 2):
        place, sums = w_first + v * w_stride, acc_first + v * LANES
        if rows > _ROWS:
            _add_2x2(x, x_first, x_stride, w, place, w_stride, acc, sums, acc_stride, repeats)
        else:
            _add_1x2(x, x_first, x_stride, w, place, w_stride, acc, sums, acc_stride, repeats)
    if blocks % 2 == 1:
        place, sums = w_first + (blocks - 1) * w_stride, acc_first + (blocks - 1) * LANES
        if rows > _ROWS:
            _add_2x1(x, x_first, x_stride, w, place, w_stride, acc, sums, acc_stride, repeats)
        else:
            _add_1x1(x, x_first, x_stride, w, place, w_stride, acc, sums, acc_stride, repeats)


def multiply_amx(
    x: Any,
    x_stride: Any,
    rows: Any,
    w: Any,
    w_stride: Any,
    blocks: Any,
    steps: Any,
    init: Any,
    acc: Any,
    acc_stride: Any,
) -> None:
    """See :mod:`emu.numerics.gemm.native`; the pointers are numba's own."""
    if rows <= 0 or blocks <= 0:
        return
    starts = carray(init, (rows,))
    out = carray(acc, ((rows - 1) * acc_stride + blocks * LANES,))
    repeats = max(steps, 0) // _ROWS
    rest, done = max(steps, 0) - repeats * _ROWS, repeats * _ROWS
    for first in range(0, rows, 2 * _ROWS):
        count = min(rows - first, 2 * _ROWS)
        for r in range(first, first + count):
            out[r * acc_stride : r * acc_stride + blocks * LANES] = starts[r]
        xp, ap = first * x_stride, first * acc_stride
        if repeats > 0:
            _add_columns(
                x, xp, x_stride, count, w, 0, w_stride, blocks, acc, ap, acc_stride, _ROWS, repeats
            )  # fmt: skip
        if rest > 0:
            xp, wp = xp + done * DEPTH, done * BLOCK_STEP
            _add_columns(x, xp, x_stride, count, w, wp, w_stride, blocks, acc, ap, acc_stride, rest, 1)
    _release()
