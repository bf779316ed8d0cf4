"""Hypotheses about what is read: the mirror on inputs as a wrong read would see them.

Elements that lie outside of an input are those that really lie there: both targets place the buffers of a
case alike, with known bytes around them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from emu.diagnose.evidence import Evidence, Fact
from emu.diagnose.hypothesis import Hypothesis, mirror_of
from emu.kernels.spec import Kernel, Tensor
from emu.verify.case import Case
from emu.verify.families import Array
from emu.verify.layout import Layout
from emu.verify.shapes import columns_of, shape_of, tensors
from emu.verify.target import CallResult, host_arena

Transform = Callable[[Kernel, Case, Tensor], Array | None]
"""The tensor as it is read; None where it makes no difference to the case's shape."""

_ARENA: list[Array] = []
_SCALES = ("float32", "float16", "uint16", "int32")
_STEPS = (1, -1, 2, -2, 4, -4, 8, -8, 16, -16, 32, -32, 64, -64)


def hypotheses(evidence: Evidence) -> Iterator[Hypothesis]:
    """For every input tensor what can be wrong with reading it."""
    kernel = evidence.kernel
    for tensor in tensors(kernel):
        if tensor.role != "out":
            for name, text, transform in _of_tensor(kernel, tensor):
                yield Hypothesis(name, text, _predictor(kernel, tensor, transform))


def _of_tensor(kernel: Kernel, tensor: Tensor) -> Iterator[tuple[str, str, Transform]]:
    yield from _packed(tensor)
    yield from _moved(tensor)
    yield from _strided(kernel, tensor)
    yield "transposed operand", f"{tensor.name} is read transposed", _transposed


def _packed(tensor: Tensor) -> Iterator[tuple[str, str, Transform]]:
    if tensor.dtype != "uint8":
        return
    name = tensor.name
    yield "nibble order", f"the two nibbles of each byte of {name} are taken in the other order", _nibbles
    yield "2-bit order", f"the four codes of each byte of {name} are taken in the other order", _pairs


def _moved(tensor: Tensor) -> Iterator[tuple[str, str, Transform]]:
    is_scale = tensor.dtype in _SCALES
    for step in _STEPS[:6] if is_scale else _STEPS:
        where = f"{abs(step)} element{'s' if abs(step) > 1 else ''} {'later' if step > 0 else 'earlier'}"
        name = "scale of another row or group" if is_scale else "operand moved"
        yield name, f"{tensor.name} is read {where}", _read_at(step)


def _strided(kernel: Kernel, tensor: Tensor) -> Iterator[tuple[str, str, Transform]]:
    if not _has_rows(kernel, tensor):
        return
    for step in _STEPS:
        text = f"rows of {tensor.name} are taken {abs(step)} elements {'further' if step > 0 else 'closer'}"
        is_group = tensor.dtype in _SCALES and abs(step) == 1
        name = "off-by-one group" if is_group else "row stride"
        yield name, f"{text} apart than they are", _read_rows(_longer(step))
    for size in (*(d.name for d in kernel.dims), *kernel.derived):
        yield "row stride", f"rows of {tensor.name} are taken {size} elements apart", _read_rows(_named(size))


def _longer(step: int) -> Callable[[int, dict[str, int]], int]:
    return lambda columns, dims: columns + step


def _named(size: str) -> Callable[[int, dict[str, int]], int]:
    return lambda columns, dims: dims.get(size, columns)


def _has_rows(kernel: Kernel, tensor: Tensor) -> bool:
    names = {p.name for p in kernel.params}
    return len(tensor.shape) >= 2 or f"{tensor.name}_stride" in names


def _predictor(kernel: Kernel, tensor: Tensor, transform: Transform) -> Callable[[Fact], CallResult | None]:
    def predict(fact: Fact) -> CallResult | None:
        case = fact.case
        if not case.arrays[tensor.name].size:
            return fact.expected
        seen = transform(kernel, case, tensor)
        if seen is None:
            return fact.expected
        arrays = {**case.arrays, tensor.name: np.ascontiguousarray(seen.astype(tensor.dtype))}
        return mirror_of(kernel, replace(case, arrays=arrays))

    return predict


def _memory(kernel: Kernel, case: Case, tensor: Tensor) -> tuple[Array, int]:
    """All bytes of the case's memory, and the place of the tensor in it."""
    if not _ARENA:
        _ARENA.append(host_arena())
    layout = Layout(kernel, case, _ARENA[0])
    slot = next(s for s in layout.slots if s.tensor.name == tensor.name)
    return _ARENA[0][: layout.used], slot.start


def _take(kernel: Kernel, case: Case, tensor: Tensor, places: Array) -> Array | None:
    """Elements at places (counted from the tensor's first) of the memory that holds the case."""
    memory, start = _memory(kernel, case, tensor)
    dtype = np.dtype(tensor.dtype)
    first = start + places * dtype.itemsize
    if first.size and (first.min() < 0 or first.max() + dtype.itemsize > memory.size):
        return None
    return np.ascontiguousarray(memory[first[:, None] + np.arange(dtype.itemsize)]).view(dtype).reshape(-1)


def _read_at(step: int) -> Transform:
    def read(kernel: Kernel, case: Case, tensor: Tensor) -> Array | None:
        return _take(kernel, case, tensor, np.arange(case.arrays[tensor.name].size) + step)

    return read


def _read_rows(stride: Callable[[int, dict[str, int]], int]) -> Transform:
    def read(kernel: Kernel, case: Case, tensor: Tensor) -> Array | None:
        columns = columns_of(kernel, tensor, case.dims, case.scalars)
        size = case.arrays[tensor.name].size
        if columns <= 0 or size <= columns:
            return None
        other = stride(columns, case.dims)
        if other == columns:
            return None
        at = np.arange(size)
        return _take(kernel, case, tensor, at // columns * other + at % columns)

    return read


def _transposed(kernel: Kernel, case: Case, tensor: Tensor) -> Array | None:
    shape = shape_of(kernel, tensor, case.dims)
    array = case.arrays[tensor.name]
    if len(shape) != 2:
        columns = columns_of(kernel, tensor, case.dims, case.scalars)
        if columns <= 0 or array.size % columns:
            return None
        shape = array.size // columns, columns
    return array.reshape(shape[1], shape[0]).T.reshape(-1)


def _nibbles(kernel: Kernel, case: Case, tensor: Tensor) -> Array | None:
    array = case.arrays[tensor.name]
    return ((array >> 4) | (array << 4)).astype(np.uint8)


def _pairs(kernel: Kernel, case: Case, tensor: Tensor) -> Array | None:
    a = case.arrays[tensor.name]
    return ((a >> 6) | (a >> 2 & 0x0C) | (a << 2 & 0x30) | (a << 6)).astype(np.uint8)
