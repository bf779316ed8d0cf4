"""Does a case from a file fit the spec as it is now? One that does not would blame the function for nothing.

Saved cases outlive specs: a range is narrowed, an alignment is required, padding gets filled. What the spec
excludes today is no case, however it failed yesterday.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from emu.kernels.spec import Dim, Kernel, Tensor
from emu.verify.case import Case, fault_named, misaligned, refill, scalar_values
from emu.verify.families import Array, family
from emu.verify.shapes import all_dims, elements_of, holds, scalars, tensors


def misfits(kernel: Kernel, case: Case) -> Iterator[str]:
    """What does not fit, one sentence each; later ones may rely on the earlier. Raises UsageProblem for a
    refused call that the spec does not have.
    """
    wrong = [text for dim in kernel.dims for text in _size(kernel, dim, case.dims)]
    yield from wrong
    if wrong:
        return
    if all_dims(kernel, case.dims) != case.dims:
        yield "its sizes are not those that the spec derives"
        return
    for i, tensor in enumerate(tensors(kernel)):
        yield from _offset(kernel, tensor, case)
        if tensor.role != "out":
            yield from _contents(kernel, tensor, case, i)
    yield from _scalars(kernel, case)
    if not holds(kernel, case.dims, case.scalars):
        yield "its sizes and scalars break what the spec requires"


def _size(kernel: Kernel, dim: Dim, dims: Mapping[str, int]) -> Iterator[str]:
    if dim.name not in dims:
        yield f"it has no size {dim.name}"
        return
    value = dims[dim.name]
    # a shrunk case may lie anywhere below an extreme
    highest = max([dim.high, *(sizes[dim.name] for sizes in kernel.extremes if dim.name in sizes)])
    on_grid = dim.low <= value <= highest and (value - dim.low) % dim.multiple == 0
    if not on_grid and value not in dim.special:
        yield f"its {dim.name} is {value}, which the spec excludes"


def _offset(kernel: Kernel, tensor: Tensor, case: Case) -> Iterator[str]:
    fault, offset = fault_named(kernel, case.fault), case.offsets[tensor.name]
    if fault is not None and tensor.name in fault.misalign:
        if offset != misaligned(tensor, fault, case.dirty):
            yield f"pointer {tensor.name} is not misaligned as the refused call wants"
        return
    step = np.dtype(tensor.dtype).itemsize if tensor.natural else 1
    if offset % min(tensor.align, 16) or offset % step:
        yield f"pointer {tensor.name} stands at 16k+{offset}, which the spec excludes"


def _contents(kernel: Kernel, tensor: Tensor, case: Case, index: int) -> Iterator[str]:
    array = case.arrays[tensor.name]
    wanted = elements_of(kernel, tensor, case.dims)
    if array.size != wanted:
        yield f"array {tensor.name} has {array.size} elements, the spec of {kernel.symbol} gives it {wanted}"
        return
    if tensor.fill is None:
        if not _is_inside(tensor, array):
            yield f"array {tensor.name} has elements that are not {tensor.values!r}"
        return
    filled = array.copy()
    refill(kernel, tensor, case.dims, filled, case.content, index)
    if filled.tobytes() != array.tobytes():
        yield f"array {tensor.name} is not what the spec's fill function leaves"


def _is_inside(tensor: Tensor, array: Array) -> bool:
    values = family(tensor.values, tensor.dtype)
    if array.dtype.kind == "f" and values.nonfinite().size:
        array = array[np.isfinite(array)]
    return bool(((array >= values.low) & (array <= values.high)).all())


def _scalars(kernel: Kernel, case: Case) -> Iterator[str]:
    drawn = {s.name: case.scalars[s.name] for s in scalars(kernel)}
    wanted = scalar_values(kernel, case.dims, drawn, fault_named(kernel, case.fault))
    for name, value in wanted.items():
        if np.array(value).tobytes() != np.array(case.scalars[name]).tobytes():
            yield f"its {name} is {case.scalars[name]}, the spec makes it {value}"
