"""The matrix product of the chosen variant, as compiled mirrors call it."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from emu.numerics.gemm.native import SYMBOL, bind

bind()


@intrinsic  # type: ignore[untyped-decorator]
def multiply(
    typing: Any,
    x: Any,
    x_first: Any,
    x_stride: Any,
    rows: Any,
    w: Any,
    w_first: Any,
    w_stride: Any,
    blocks: Any,
    steps: Any,
    init: Any,
    init_first: Any,
    acc: Any,
    acc_first: Any,
    acc_stride: Any,
) -> Any:
    """acc[r][o] = init[r] + sum of x[r][c] * w[o][c], wrapping int32, for compiled code.

    x int8 flat, x_first, x_stride, rows; w packed uint8 flat (:mod:`emu.numerics.gemm.packing`, so each
    weight counts plus 128), w_first, w_stride (bytes from one block of 16 outputs to the next), blocks, steps
    (groups of four columns); init int32, init_first; acc int32 flat, acc_first, acc_stride. Positions and
    strides count elements. All 16 outputs of every block are written.
    """
    del typing
    arguments = (
        x, x_first, x_stride, rows, w, w_first, w_stride, blocks, steps, init, init_first, acc, acc_first,
        acc_stride,
    )  # fmt: skip
    signature = types.void(*(a if isinstance(a, types.Array) else types.int64 for a in arguments))
    return signature, _codegen


def _codegen(context: Any, b: ir.IRBuilder, signature: Any, arguments: Any) -> ir.Value:
    def pointer(k: int) -> ir.Value:
        data = context.make_array(signature.args[k])(context, b, arguments[k]).data
        return b.gep(data, [arguments[k + 1]])

    a = arguments
    values = [pointer(0), a[2], a[3], pointer(4), a[6], a[7], a[8], pointer(9), pointer(11), a[13]]
    kind = ir.FunctionType(ir.VoidType(), [v.type for v in values])
    b.call(cgutils.get_or_insert_function(b.module, kind, SYMBOL), values)
    return context.get_dummy_value()
