"""The product of AVX2: few rows widen bytes on the way, many rows share what has been prepared once."""

from __future__ import annotations

from typing import Any, Final

from llvmlite import ir

from emu.numerics.gemm.avx2_pairs import multiply_pairs
from emu.numerics.gemm.packing import LANES
from emu.numerics.gemm.tile import I8, Step, call, make_product
from emu.numerics.jit import jit
from emu.numerics.vectors import I32, load, shuffled

_I16 = ir.IntType(16)
_WORDS = ir.VectorType(_I16, 16)
_PAIRS = ir.VectorType(I32, 8)
_QUARTERS = 4
"""Registers of a block: each has two partial sums for each of four outputs."""
MANY: Final = 4
"""So many rows share what has been prepared."""


class BytesStep(Step):
    """Bytes widened to 16 bits, pairs of products added exactly in 32 bits (vpmaddwd)."""

    def start(self, b: ir.IRBuilder, value: ir.Value, w: ir.Value) -> list[ir.Value]:
        """The start value in one partial sum of each output, 0 in the other."""
        vector = ir.Constant(_PAIRS, [0] * 8)
        for lane in range(0, 8, 2):
            vector = b.insert_element(vector, value, ir.Constant(I32, lane))
        return [vector] * _QUARTERS

    def activations(self, b: ir.IRBuilder, pointer: ir.Value) -> ir.Value:
        """Four bytes widened, four times over."""
        four = b.sext(load(b, pointer, ir.VectorType(I8, 4)), ir.VectorType(_I16, 4))
        return shuffled(b, four, four, (k % 4 for k in range(16)))

    def weights(self, b: ir.IRBuilder, pointer: ir.Value) -> list[ir.Value]:
        """64 bytes widened to four registers of four outputs."""
        quarters = [b.gep(pointer, [ir.Constant(I32, 16 * q)]) for q in range(_QUARTERS)]
        return [b.zext(load(b, p, ir.VectorType(I8, 16)), _WORDS) for p in quarters]

    def add(self, b: ir.IRBuilder, sums: list[ir.Value], w: list[ir.Value], x: ir.Value) -> list[ir.Value]:
        """Four multiplications of pairs."""
        products = [call(b, "llvm.x86.avx2.pmadd.wd", _PAIRS, [quarter, x]) for quarter in w]
        return [b.add(total, product) for total, product in zip(sums, products, strict=True)]

    def finish(self, b: ir.IRBuilder, sums: list[ir.Value]) -> ir.Value:
        """Both partial sums of each output added."""
        halves = []
        for low, high in ((sums[0], sums[1]), (sums[2], sums[3])):
            even = shuffled(b, low, high, range(0, 16, 2))
            halves.append(b.add(even, shuffled(b, low, high, range(1, 16, 2))))
        return shuffled(b, halves[0], halves[1], range(LANES))


_few = make_product(BytesStep(), (2, 1), (1,))
_many = jit(multiply_pairs)


def multiply_avx2(
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
    if rows < MANY or steps <= 0:
        _few(x, x_stride, rows, w, w_stride, blocks, steps, init, acc, acc_stride)
    else:
        _many(x, x_stride, rows, w, w_stride, blocks, steps, init, acc, acc_stride)
