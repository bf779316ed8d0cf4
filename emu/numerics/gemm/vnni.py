"""The step of AVX-512 VNNI: one instruction adds four products to each of 16 sums, without saturation."""

from __future__ import annotations

from llvmlite import ir

from emu.numerics.gemm.packing import LANES
from emu.numerics.gemm.tile import I32, Step, call, load, make_product
from emu.numerics.jit import jit
from emu.numerics.types import S8Array, S32Array, U8Array

_SUMS = ir.VectorType(I32, LANES)


class VnniStep(Step):
    """vpdpbusd: unsigned weights times signed activations, wrapping 32-bit sums."""

    def start(self, b: ir.IRBuilder, value: ir.Value) -> list[ir.Value]:
        """One register of 16 sums."""
        return [splat(b, value)]

    def activations(self, b: ir.IRBuilder, pointer: ir.Value) -> ir.Value:
        """Four bytes, the same for all outputs."""
        return splat(b, load(b, pointer, I32))

    def weights(self, b: ir.IRBuilder, pointer: ir.Value) -> list[ir.Value]:
        """64 bytes as they stand."""
        return [load(b, pointer, _SUMS)]

    def add(self, b: ir.IRBuilder, sums: list[ir.Value], w: list[ir.Value], x: ir.Value) -> list[ir.Value]:
        """One instruction."""
        return [call(b, "llvm.x86.avx512.vpdpbusd.512", _SUMS, [sums[0], w[0], x])]

    def finish(self, b: ir.IRBuilder, sums: list[ir.Value]) -> ir.Value:
        """The register itself."""
        return sums[0]


def splat(b: ir.IRBuilder, value: ir.Value) -> ir.Value:
    """The int32 ``value`` in all 16 lanes."""
    one = b.insert_element(ir.Constant(_SUMS, ir.Undefined), value, ir.Constant(I32, 0))
    mask = ir.Constant(ir.VectorType(I32, LANES), [0] * LANES)
    return b.shuffle_vector(one, ir.Constant(_SUMS, ir.Undefined), mask)


_product = make_product(VnniStep(), 4, 4)


@jit
def multiply_vnni(
    x: S8Array,
    x_first: int,
    x_stride: int,
    rows: int,
    w: U8Array,
    w_first: int,
    w_stride: int,
    blocks: int,
    steps: int,
    init: S32Array,
    init_first: int,
    acc: S32Array,
    acc_first: int,
    acc_stride: int,
) -> None:
    """See :func:`emu.numerics.gemm.multiply.multiply`."""
    _product(
        x,
        x_first,
        x_stride,
        rows,
        w,
        w_first,
        w_stride,
        blocks,
        steps,
        init,
        init_first,
        acc,
        acc_first,
        acc_stride,
    )
