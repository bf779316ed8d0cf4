"""A tile of a matrix product as LLVM code: accumulators in registers over a loop of columns.

A variant says how one step of four columns is added; everything else is the same.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from emu.numerics.gemm.packing import BLOCK_STEP, DEPTH, LANES

I64, I8 = ir.IntType(64), ir.IntType(8)


class Step(ABC):
    """How a variant keeps 16 sums and adds four columns to them."""

    x_bytes = DEPTH
    """Bytes from the four activations of a step to those of the next."""
    w_bytes = BLOCK_STEP
    """Bytes from the 64 weights of a step to those of the next."""

    @abstractmethod
    def start(self, b: ir.IRBuilder, value: ir.Value, w: ir.Value) -> list[ir.Value]:
        """Accumulators of a block, weights from ``w`` on, whose sums all begin with the int32 ``value``."""

    @abstractmethod
    def activations(self, b: ir.IRBuilder, pointer: ir.Value) -> ir.Value:
        """Four activations at ``pointer``, ready to be multiplied."""

    @abstractmethod
    def weights(self, b: ir.IRBuilder, pointer: ir.Value) -> list[ir.Value]:
        """The 64 weights at ``pointer``, ready to be multiplied."""

    @abstractmethod
    def add(self, b: ir.IRBuilder, sums: list[ir.Value], w: list[ir.Value], x: ir.Value) -> list[ir.Value]:
        """The accumulators after one step."""

    @abstractmethod
    def finish(self, b: ir.IRBuilder, sums: list[ir.Value]) -> ir.Value:
        """The 16 sums as <16 x i32>."""

    def loop(
        self,
        b: ir.IRBuilder,
        x_rows: list[ir.Value],
        w_blocks: list[ir.Value],
        first: list[list[ir.Value]],
        steps: ir.Value,
    ) -> list[list[ir.Value]]:
        """The sums after ``steps`` steps; accumulators in row-major order of (row, block)."""
        before = b.block
        body, after = b.append_basic_block("steps"), b.append_basic_block("sums")
        b.cbranch(b.icmp_signed(">", steps, ir.Constant(I64, 0)), body, after)
        b.position_at_end(body)
        index = b.phi(I64)
        index.add_incoming(ir.Constant(I64, 0), before)
        phis = [[b.phi(value.type) for value in group] for group in first]
        w = [self.weights(b, b.gep(p, [b.mul(index, ir.Constant(I64, self.w_bytes))])) for p in w_blocks]
        after_step: list[list[ir.Value]] = []
        for r, row in enumerate(x_rows):
            x = self.activations(b, b.gep(row, [b.mul(index, ir.Constant(I64, self.x_bytes))]))
            for v in range(len(w_blocks)):
                after_step.append(self.add(b, phis[r * len(w_blocks) + v], w[v], x))
        following = b.add(index, ir.Constant(I64, 1))
        index.add_incoming(following, body)
        b.cbranch(b.icmp_signed("<", following, steps), body, after)
        for group, start, end in zip(phis, first, after_step, strict=True):
            for phi, value, last in zip(group, start, end, strict=True):
                phi.add_incoming(value, before)
                phi.add_incoming(last, body)
        b.position_at_end(after)
        return [_merge(b, start, end, before, body) for start, end in zip(first, after_step, strict=True)]


def call(b: ir.IRBuilder, name: str, result: ir.Type, arguments: list[ir.Value]) -> ir.Value:
    """A call of an LLVM intrinsic."""
    kind = ir.FunctionType(result, [a.type for a in arguments])
    return b.call(cgutils.get_or_insert_function(b.module, kind, name), arguments)


Sizes = tuple[int, ...]


def make_product(step: Step, rows_of_tiles: Sizes, blocks_of_tiles: Sizes) -> Callable[..., None]:
    """A whole product in tiles of the given numbers of rows and blocks (descending, the last is 1).

    For compiled code. Its parameters are those of :mod:`emu.numerics.gemm.native`: pointers, counts, strides,
    those of x and w in bytes.
    """

    @intrinsic  # type: ignore[untyped-decorator]
    def product(
        typing: Any,
        x: Any,
        xs: Any,
        rows: Any,
        w: Any,
        ws: Any,
        blocks: Any,
        steps: Any,
        init: Any,
        acc: Any,
        az: Any,
    ) -> Any:
        del typing
        signature = types.void(x, xs, rows, w, ws, blocks, steps, init, acc, az)

        def codegen(context: Any, b: ir.IRBuilder, sig: Any, arguments: Any) -> ir.Value:
            a = arguments
            operands = _Operands(a[0], a[1], a[3], a[4], a[7], a[8], a[9])
            _emit_product(b, step, (rows_of_tiles, blocks_of_tiles), operands, a[2], a[5], a[6])
            return context.get_dummy_value()

        return signature, codegen

    return product  # type: ignore[no-any-return]


@dataclass(frozen=True)
class _Operands:
    """Pointers and strides (in elements) of activations, weights, starts and sums."""

    x: ir.Value
    x_stride: ir.Value
    w: ir.Value
    w_stride: ir.Value
    init: ir.Value
    acc: ir.Value
    acc_stride: ir.Value

    def at(self, b: ir.IRBuilder, row: ir.Value, block: ir.Value) -> _Operands:
        """The same from another row and block on."""
        acc = b.add(b.mul(row, self.acc_stride), b.mul(block, ir.Constant(I64, LANES)))
        return replace(
            self,
            x=b.gep(self.x, [b.mul(row, self.x_stride)]),
            w=b.gep(self.w, [b.mul(block, self.w_stride)]),
            init=b.gep(self.init, [row]),
            acc=b.gep(self.acc, [acc]),
        )


def _emit_product(
    b: ir.IRBuilder,
    step: Step,
    sizes: tuple[Sizes, Sizes],
    operands: _Operands,
    rows: ir.Value,
    blocks: ir.Value,
    steps: ir.Value,
) -> None:
    """Blocks outside, so that a group of weight blocks stays in the first cache for all rows."""
    for block, block_count in _pieces(b, blocks, sizes[1]):
        for row, row_count in _pieces(b, rows, sizes[0]):
            _emit_tile(b, step, row_count, block_count, operands.at(b, row, block), steps)


def _pieces(b: ir.IRBuilder, limit: ir.Value, sizes: Sizes) -> Iterator[tuple[ir.Value, int]]:
    """Cover 0..limit-1 with loops over pieces of each size in turn: (first element, size) of each."""
    first = cgutils.alloca_once_value(b, ir.Constant(I64, 0))
    b.store(ir.Constant(I64, 0), first)
    for size in sizes:
        head, body, after = (b.append_basic_block(name) for name in ("head", "piece", "rest"))
        b.branch(head)
        b.position_at_end(head)
        start = b.load(first)
        end = b.add(start, ir.Constant(I64, size))
        b.cbranch(b.icmp_signed("<=", end, limit), body, after)
        b.position_at_end(body)
        yield start, size
        b.store(end, first)
        b.branch(head)
        b.position_at_end(after)


def _emit_tile(b: ir.IRBuilder, step: Step, rows: int, blocks: int, o: _Operands, steps: ir.Value) -> None:
    def at(base: ir.Value, k: int, stride: ir.Value) -> ir.Value:
        return b.gep(base, [b.mul(stride, ir.Constant(I64, k))])

    x_rows = [at(o.x, r, o.x_stride) for r in range(rows)]
    w_blocks = [at(o.w, v, o.w_stride) for v in range(blocks)]
    values = [b.load(b.gep(o.init, [ir.Constant(I64, r)])) for r in range(rows)]
    first = [step.start(b, value, w) for value in values for w in w_blocks]
    sums = step.loop(b, x_rows, w_blocks, first, steps)
    for k, value in enumerate(sums):
        r, v = divmod(k, blocks)
        place = b.gep(at(o.acc, r, o.acc_stride), [ir.Constant(I64, LANES * v)])
        result = step.finish(b, value)
        b.store(result, b.bitcast(place, result.type.as_pointer())).align = 4


def _merge(
    b: ir.IRBuilder, start: list[ir.Value], end: list[ir.Value], before: ir.Block, body: ir.Block
) -> list[ir.Value]:
    merged = []
    for value, last in zip(start, end, strict=True):
        phi = b.phi(value.type)
        phi.add_incoming(value, before)
        phi.add_incoming(last, body)
        merged.append(phi)
    return merged
