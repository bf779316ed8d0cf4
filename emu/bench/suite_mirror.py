"""`emu bench mirror`: the host's int8 matrix product that model mirrors use, against those of others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from emu.bench.measure import Values, interleaved
from emu.bench.naive import naive_product
from emu.bench.peers import Call, onnx_product, torch_product
from emu.bench.report import Absent, Cell, Report, Table
from emu.bench.settings import Settings
from emu.bench.suite_kernels import rate
from emu.numerics.gemm.multiply import multiply
from emu.numerics.gemm.packing import BLOCK_STEP, DEPTH, LANES, OFFSET, pack_weights
from emu.numerics.gemm.variant import chosen
from emu.numerics.jit import jit
from emu.numerics.types import S8Array, S32Array, U8Array
from emu.verify.errors import ToolError

SHAPES = ((64, 192, 576), (64, 1152, 576), (4096, 288, 32))
ABOUT = """Products of rows x columns by columns x outputs, int8 weights that are packed once, int32 sums,
one thread, in GMAC/s: the mirrors' own (`emu.numerics.gemm`; the best variant that the processor has),
onnxruntime's `MatMulInteger` (uint8 by int8, constant weights), torch's `_int_mm` (int8 by int8), and
plain loops under numba."""

_OTHERS: dict[str, Callable[[Any, Any], Call]] = {
    "onnxruntime": onnx_product,
    "torch": torch_product,
}


def run(settings: Settings) -> Report:
    """Measure; see ABOUT."""
    report = Report("mirror", settings.command("mirror"), ABOUT, notes=[f"variant of the mirror: {chosen()}"])
    columns = ("mirror", *_OTHERS, "numba loops")
    ratios = tuple(f"mirror / {name}" for name in columns[1:])
    table = Table("rows x columns x outputs, GMAC/s", (*columns, *ratios))
    for shape in SHAPES:
        settings.tell(f"mirror: {shape}")
        values = _measured(shape, settings, report)
        cells = [_cell(values.get(name)) for name in columns]
        cells += [_ratio(values, name) for name in columns[1:]]
        table.add(" x ".join(map(str, shape)), *cells)
    report.tables.append(table)
    return report


def _cell(values: Values | None) -> Cell | Absent:
    return Absent("missing") if values is None else Cell(values)


def _ratio(values: dict[str, Values], name: str) -> Cell | Absent:
    return Cell(values["mirror"].over(values[name])) if name in values else Absent("missing")


def _measured(shape: tuple[int, int, int], settings: Settings, report: Report) -> dict[str, Values]:
    rows, cols, outs = shape
    rng = np.random.default_rng(rows)
    x = rng.integers(0, 128, (rows, cols), np.int8)
    w = rng.integers(-128, 128, (outs, cols), np.int8)
    acc = np.zeros((rows, outs), np.int32)
    calls = {"mirror": mirror_product(x, w), "numba loops": naive_product(x, w, acc)}
    for name, make in _OTHERS.items():
        try:
            calls[name] = make(x.view(np.uint8), np.ascontiguousarray(w.T))
        except LookupError as error:
            report.missing[name] = str(error)
        else:
            _must_be_product(name, calls[name](), x, w)
    works = {name: rate(call, rows * cols * outs * 1e-9, settings.seconds) for name, call in calls.items()}
    return interleaved(works, settings.rounds)


def _must_be_product(name: str, result: Any, x: Any, w: Any) -> None:
    """Raise ToolError unless a peer's result, or the first of several, is the product."""
    product = np.asarray(result[0] if isinstance(result, list) else result)
    if not np.array_equal(product, x.astype(np.int32) @ w.T.astype(np.int32)):
        raise ToolError(f"{name} does not compute the same product")


def mirror_product(x: Any, w: Any) -> Call:
    """x int8 [rows][cols] times the transpose of w int8 [outs][cols], as model mirrors do it.

    Weights are packed here, once; the sums of the rows of x, from which a product starts, belong to the call.
    Raises ToolError when the product is wrong.
    """
    packed = pack_weights(w)
    blocks, steps = packed.shape[:2]
    padded = np.zeros((x.shape[0], steps * DEPTH), np.int8)
    padded[:, : x.shape[1]] = x
    start, acc = np.zeros(len(x), np.int32), np.zeros((len(x), blocks * LANES), np.int32)
    arguments = (padded, packed.reshape(-1), blocks, steps, start, acc)
    _multiply(*arguments)
    if not np.array_equal(acc[:, : len(w)], x.astype(np.int32) @ w.T.astype(np.int32)):
        raise ToolError("the mirrors' product of int8 matrices is wrong on this machine")
    return lambda: _multiply(*arguments)


@jit
def _multiply(x: S8Array, w: U8Array, blocks: int, steps: int, start: S32Array, acc: S32Array) -> None:
    rows, cols = x.shape
    for r in range(rows):
        total = np.int32(0)
        for c in range(cols):
            total = np.int32(total + np.int32(x[r, c]))
        start[r] = np.int32(-OFFSET) * total
    size = blocks * LANES
    multiply(
        x.reshape(-1),
        0,
        cols,
        rows,
        w,
        0,
        steps * BLOCK_STEP,
        blocks,
        steps,
        start,
        0,
        acc.reshape(-1),
        0,
        size,
    )
