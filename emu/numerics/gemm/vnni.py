"""The step of AVX-512 VNNI: one instruction adds four products to each of 16 sums, without saturation."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from emu.numerics.gemm.packing import LANES
from emu.numerics.gemm.tile import Step, call, make_product
from emu.numerics.vectors import I32, load, splat

_SUMS = ir.VectorType(I32, LANES)


class VnniStep(Step):
    """vpdpbusd: unsigned weights times signed activations, wrapping 32-bit sums."""

    def start(self, b: ir.IRBuilder, value: ir.Value, w: ir.Value) -> list[ir.Value]:
        """One register of 16 sums."""
        return [splat(b, value, LANES)]

    def activations(self, b: ir.IRBuilder, pointer: ir.Value) -> ir.Value:
        """Four bytes, the same for all outputs."""
        return splat(b, load(b, pointer, I32), LANES)

    def weights(self, b: ir.IRBuilder, pointer: ir.Value) -> list[ir.Value]:
        """64 bytes as they stand."""
        return [load(b, pointer, _SUMS)]

    def add(self, b: ir.IRBuilder, sums: list[ir.Value], w: list[ir.Value], x: ir.Value) -> list[ir.Value]:
        """One instruction."""
        return [call(b, "llvm.x86.avx512.vpdpbusd.512", _SUMS, [sums[0], w[0], x])]

    def finish(self, b: ir.IRBuilder, sums: list[ir.Value]) -> ir.Value:
        """The register itself."""
        return sums[0]


_product = make_product(VnniStep(), (4, 2, 1), (4, 2, 1))


def multiply_vnni(
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
    _product(x, x_stride, rows, w, w_stride, blocks, steps, init, acc, acc_stride)
