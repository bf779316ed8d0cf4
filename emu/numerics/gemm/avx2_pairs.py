"""Many rows with AVX2: a product of pairs for two products (Winograd's inner product).

    u0 W0 + u1 W1 = (u0 + W1) (u1 + W0) - u0 u1 - W0 W1

Both operands are bytes plus 128, 0..255; what is taken off belongs to a row or to an output. Sums of two
bytes fit in 16 bits, and vpmaddwd adds two such products exactly in 32: eight sums and four columns cost two
additions, one multiplication and one addition, instead of two of each kind. Where only two
of four pipes multiply, that is an eighth faster. (The byte form, vpmaddubsw, would saturate at 16 bits.) Sums
wrap, so they are exact where the sum that is wanted fits in 32 bits.
"""

from __future__ import annotations

from typing import Any, Final

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba import carray, types
from numba.core import cgutils
from numba.extending import intrinsic

from emu.numerics.gemm.packing import BLOCK_STEP, DEPTH, LANES
from emu.numerics.gemm.tile import I64, Step, call, make_product
from emu.numerics.jit import jit
from emu.numerics.types import S32Array
from emu.numerics.vectors import I32, load, shuffled, splat, store

_WORDS = ir.VectorType(ir.IntType(16), 16)
_SUMS = ir.VectorType(I32, 8)
_BYTES = 32
"""Of a register."""
_LOW = ir.Constant(_WORDS, [0xFF] * 16)
_SHIFT = ir.Constant(_WORDS, [8] * 16)
_MIDDLE = ir.Constant(_WORDS, [128] * 16)
_SIGNS = ir.Constant(_SUMS, [0x80808080] * 8)

_TILE: Final = 4
"""Rows of a tile, with 16 outputs: eight registers of sums."""
ROWS: Final = 64
"""Rows that share a prepared block of weights; they stay in the second cache."""
COLUMNS: Final = 576
"""Columns that are multiplied before sums are stored."""
_PLANE: Final = COLUMNS + 32
"""Bytes of the even columns of a prepared row; the odd ones stand behind them."""
_ROW: Final = 2 * _PLANE
_HEAD: Final = 2 * _BYTES
_BLOCK: Final = _HEAD + 2 * LANES * COLUMNS
"""Bytes of a prepared block of weights: what is taken off 16 sums, then even and odd columns."""


class PairsStep(Step):
    """Four columns: x in two planes, even and odd; w as [even 0..7, even 8..15, odd 0..7, odd 8..15]."""

    x_bytes = 4
    w_bytes = 4 * _BYTES

    def start(self, b: ir.IRBuilder, value: ir.Value, w: ir.Value) -> list[ir.Value]:
        """Eight outputs in each register, less what stands before the weights."""
        return [b.sub(_splat(b, value), load(b, _further(b, w, _BYTES * k - _HEAD), _SUMS)) for k in range(2)]

    def activations(self, b: ir.IRBuilder, pointer: ir.Value) -> Any:
        """Two even columns in every lane, two odd ones."""
        return [b.bitcast(_splat(b, load(b, _further(b, pointer, k), I32)), _WORDS) for k in (0, _PLANE)]

    def weights(self, b: ir.IRBuilder, pointer: ir.Value) -> list[ir.Value]:
        """Four registers as they stand."""
        return [load(b, _further(b, pointer, _BYTES * k), _WORDS) for k in range(4)]

    def add(self, b: ir.IRBuilder, sums: list[ir.Value], w: list[ir.Value], x: Any) -> list[ir.Value]:
        """Even x to odd weights, odd x to even weights, multiplied."""
        even, odd = x
        products = [_multiply_add(b, b.add(even, w[k + 2]), b.add(odd, w[k])) for k in range(2)]
        return [b.add(total, product) for total, product in zip(sums, products, strict=True)]

    def finish(self, b: ir.IRBuilder, sums: list[ir.Value]) -> ir.Value:
        """One register behind the other."""
        return shuffled(b, sums[0], sums[1], range(LANES))

    def loop(
        self,
        b: ir.IRBuilder,
        x_rows: list[ir.Value],
        w_blocks: list[ir.Value],
        first: list[list[ir.Value]],
        steps: ir.Value,
    ) -> list[list[ir.Value]]:
        """Of four rows in the order of :func:`_four_rows`, of fewer as LLVM likes it."""
        if len(x_rows) != _TILE:
            return super().loop(b, x_rows, w_blocks, first, steps)
        sums = [value for group in first for value in group]
        pointers = [x_rows[0], w_blocks[0], steps]
        results = [v.type for v in (*sums, *pointers)]
        kind = ir.FunctionType(ir.LiteralStructType(results), results)
        fixed = [f"{{ymm{k}}}" for k in range(len(sums))]
        outputs = [f"={name}" for name in (*fixed, "{rdi}", "{rsi}", "{rdx}")]
        ties = [str(k) for k in range(len(results))]
        clobbered = [f"~{{ymm{k}}}" for k in range(len(sums), 16)]
        constraints = ",".join((*outputs, *ties, *clobbered, "~{memory}", "~{flags}"))
        code = ir.InlineAsm(kind, _four_rows(len(sums)), constraints, side_effect=True)
        after = b.call(code, [*sums, *pointers])
        values = [b.extract_value(after, k) for k in range(len(sums))]
        return [values[k : k + 2] for k in range(0, len(values), 2)]


def _four_rows(pointers: int) -> str:
    """The loop of a tile of four rows: sums in ymm0 to ymm7; operands from ``pointers`` on: x, w, steps.

    An order that LLVM does not keep: a tenth faster than its own where loads, additions and products compete.
    """
    x, w, steps = (f"${pointers + k}" for k in range(3))
    lines = [".p2align 6", "1:"]

    def do(name: str, *operands: int | str) -> None:
        lines.append(f"{name} " + ", ".join(v if isinstance(v, str) else f"%ymm{v}" for v in operands))

    def weights(*numbers: int) -> None:
        for k in numbers:
            do("vmovdqu", f"{_BYTES * k}({w})", 8 + k)

    for row in range(_TILE):
        if row == 0:
            weights(2, 0)
        do("vpbroadcastd", f"{row * _ROW}({x})", 12)
        do("vpbroadcastd", f"{row * _ROW + _PLANE}({x})", 13)
        for half in range(2):
            do("vpaddw", 10 + half, 12, 14)
            do("vpaddw", 8 + half, 13, 15)
            do("vpmaddwd", 15, 14, 14)
            do("vpaddd", 14, 2 * row + half, 2 * row + half)
            if row == half == 0:
                weights(3, 1)
    lines += [f"add $$128, {w}", f"add $$4, {x}", f"dec {steps}", "jnz 1b"]
    return "\n".join(lines)


def _multiply_add(b: ir.IRBuilder, x: ir.Value, y: ir.Value) -> ir.Value:
    return call(b, "llvm.x86.avx2.pmadd.wd", _SUMS, [x, y])


def _further(b: ir.IRBuilder, pointer: ir.Value, count: int | ir.Value) -> ir.Value:
    return b.gep(pointer, [ir.Constant(I64, count) if isinstance(count, int) else count])


def _splat(b: ir.IRBuilder, value: ir.Value) -> ir.Value:
    return splat(b, value, 8)


def _even_odd(b: ir.IRBuilder, four: ir.Value) -> tuple[ir.Value, ir.Value]:
    """Bytes 0 and 2, and bytes 1 and 3, of eight times four, as words."""
    words = b.bitcast(four, _WORDS)
    return b.and_(words, _LOW), b.lshr(words, _SHIFT)


@intrinsic  # type: ignore[untyped-decorator]
def _prepare_row(typing: Any, x: Any, steps: Any, out: Any) -> Any:
    """Planes of x int8 [4 * steps] plus 128 to ``out``; the sum of their products, int32."""
    del typing

    def codegen(context: Any, b: ir.IRBuilder, signature: Any, a: Any) -> ir.Value:
        x, steps, out = a
        total = cgutils.alloca_once(b, _SUMS)
        b.store(ir.Constant(_SUMS, [0] * 8), total)

        def eight(k: ir.Value, there: ir.Value | None) -> None:
            place = b.mul(k, ir.Constant(I64, DEPTH))
            here = _further(b, out, place)
            four = b.xor(_eight_fours(b, _further(b, x, place), there), _SIGNS)
            even, odd = _even_odd(b, four)
            store(b, even, here)
            store(b, odd, _further(b, here, _PLANE))
            b.store(b.add(b.load(total), _multiply_add(b, even, odd)), total)

        whole = b.and_(steps, ir.Constant(I64, -8))
        with cgutils.for_range_slice(b, ir.Constant(I64, 0), whole, ir.Constant(I64, 8)) as (k, _):
            eight(k, None)
        left = b.sub(steps, whole)
        with b.if_then(b.icmp_signed(">", left, ir.Constant(I64, 0))):
            lanes = ir.Constant(_SUMS, list(range(8)))
            eight(whole, b.icmp_signed("<", lanes, _splat(b, b.trunc(left, I32))))
        return _sum_of_lanes(b, b.load(total))

    return types.int32(x, types.int64, out), codegen


def _eight_fours(b: ir.IRBuilder, pointer: ir.Value, there: ir.Value | None) -> ir.Value:
    """Eight times four bytes, those in ``there``; 0x80 elsewhere."""
    if there is None:
        return load(b, pointer, _SUMS)
    place = b.bitcast(pointer, _SUMS.as_pointer())
    kind = ir.FunctionType(_SUMS, [place.type, I32, there.type, _SUMS])
    function = cgutils.get_or_insert_function(b.module, kind, "llvm.masked.load.v8i32.p0")
    return b.call(function, [place, ir.Constant(I32, 1), there, _SIGNS])


def _sum_of_lanes(b: ir.IRBuilder, vector: ir.Value) -> ir.Value:
    return call(b, "llvm.vector.reduce.add.v8i32", I32, [vector])


@intrinsic  # type: ignore[untyped-decorator]
def _prepare_block(typing: Any, w: Any, steps: Any, out: Any) -> Any:
    """``out``: what is taken off 16 sums, then the words of a block of ``steps`` steps."""
    del typing

    def codegen(context: Any, b: ir.IRBuilder, signature: Any, a: Any) -> ir.Value:
        w, steps, out = a
        # a row of x = 0 would give 2 * 128 * 128 in each step and output
        start = b.mul(b.trunc(steps, I32), ir.Constant(I32, -2 * 128 * 128))
        totals = [cgutils.alloca_once(b, _SUMS) for _ in range(2)]
        for total in totals:
            b.store(_splat(b, start), total)
        body = _further(b, out, _HEAD)
        with cgutils.for_range(b, steps) as loop:
            for k in range(2):
                place = b.add(b.mul(loop.index, ir.Constant(I64, BLOCK_STEP)), ir.Constant(I64, _BYTES * k))
                even, odd = _even_odd(b, load(b, _further(b, w, place), _SUMS))
                here = _further(b, body, b.mul(loop.index, ir.Constant(I64, 4 * _BYTES)))
                store(b, even, _further(b, here, _BYTES * k))
                store(b, odd, _further(b, here, _BYTES * (k + 2)))
                product = _multiply_add(b, b.add(even, _MIDDLE), b.add(odd, _MIDDLE))
                b.store(b.add(b.load(totals[k]), product), totals[k])
        for k, total in enumerate(totals):
            store(b, b.load(total), _further(b, out, _BYTES * k))
        return context.get_dummy_value()

    return types.void(w, types.int64, out), codegen


@intrinsic  # type: ignore[untyped-decorator]
def _at(typing: Any, pointer: Any, count: Any) -> Any:
    """The pointer ``count`` elements further on."""
    del typing

    def codegen(context: Any, b: ir.IRBuilder, signature: Any, a: Any) -> ir.Value:
        return b.gep(a[0], [a[1]])

    return pointer(pointer, types.int64), codegen


@intrinsic  # type: ignore[untyped-decorator]
def _pointer(typing: Any, array: Any) -> Any:
    del typing

    def codegen(context: Any, b: ir.IRBuilder, signature: Any, a: Any) -> ir.Value:
        return context.make_array(signature.args[0])(context, b, a[0]).data

    return types.CPointer(array.dtype)(array), codegen


llvm.initialize_native_asmparser()
_tiles = make_product(PairsStep(), (_TILE, 2, 1), (1,))


def multiply_pairs(
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
    """See :mod:`emu.numerics.gemm.native`; the pointers are numba's own. At least one step."""
    wide, block = np.empty(ROWS * _ROW, np.uint8), np.empty(_BLOCK, np.uint8)
    starts, sums = np.empty(ROWS, np.int32), np.empty(ROWS * LANES, np.int32)
    left, right = _pointer(wide), _pointer(block)
    most = COLUMNS // DEPTH
    for row in range(0, rows, ROWS):
        count = min(rows - row, ROWS)
        for step in range(0, steps, most):
            depth = min(steps - step, most)
            for r in range(count):
                off = _prepare_row(_at(x, (row + r) * x_stride + step * DEPTH), depth, _at(left, r * _ROW))
                start = _at(init, row + r)[0] if step == 0 else np.int32(0)
                starts[r] = np.int32(start - off)
            for v in range(blocks):
                _prepare_block(_at(w, v * w_stride + step * BLOCK_STEP), depth, right)
                out = _at(acc, row * acc_stride + v * LANES)
                target, stride = (out, acc_stride) if step == 0 else (_pointer(sums), LANES)
                _tiles(left, _ROW, count, _at(right, _HEAD), 0, 1, depth, _pointer(starts), target, stride)
                if step > 0:
                    _add(sums, carray(out, ((count - 1) * acc_stride + LANES,)), acc_stride, count)


@jit
def _add(sums: S32Array, acc: S32Array, acc_stride: int, rows: int) -> None:
    for r in range(rows):
        line = acc[r * acc_stride : r * acc_stride + LANES]
        for n in range(LANES):
            line[n] += sums[r * LANES + n]
