"""Vectors in LLVM code: what the products (gemm) and the rows of floats (lanes) both write."""

from __future__ import annotations

from collections.abc import Iterable

from llvmlite import ir

I32 = ir.IntType(32)


def load(b: ir.IRBuilder, pointer: ir.Value, kind: ir.Type) -> ir.Value:
    """An unaligned load of ``kind``."""
    value = b.load(b.bitcast(pointer, kind.as_pointer()))
    value.align = 1
    return value


def store(b: ir.IRBuilder, value: ir.Value, pointer: ir.Value) -> None:
    """An unaligned store."""
    b.store(value, b.bitcast(pointer, value.type.as_pointer())).align = 1


def splat(b: ir.IRBuilder, value: ir.Value, count: int) -> ir.Value:
    """``value`` in each of ``count`` lanes."""
    none = ir.Constant(ir.VectorType(value.type, count), ir.Undefined)
    one = b.insert_element(none, value, I32(0))
    return shuffled(b, one, none, [0] * count)


def shuffled(b: ir.IRBuilder, x: ir.Value, y: ir.Value, lanes: Iterable[int]) -> ir.Value:
    """Lanes of x (0 ..) and y (behind those of x)."""
    numbers = list(lanes)
    return b.shuffle_vector(x, y, ir.Constant(ir.VectorType(I32, len(numbers)), numbers))
