"""Hypotheses about how results are put away: the mirror's outputs, narrowed or placed otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from emu.diagnose.evidence import Evidence, Fact
from emu.diagnose.hypothesis import Hypothesis
from emu.kernels.spec import Kernel, Tensor
from emu.verify.families import Array
from emu.verify.shapes import columns_of, shape_of, tensors
from emu.verify.target import CallResult

Change = Callable[[Array], Array]


def hypotheses(evidence: Evidence) -> Iterator[Hypothesis]:
    """For every output what can be wrong with writing it."""
    kernel = evidence.kernel
    for tensor in tensors(kernel):
        if tensor.role == "in":
            continue
        dtype = np.dtype(tensor.dtype)
        if dtype.kind == "i" and dtype.itemsize > 1:
            yield from _narrowed(tensor)
        text = f"{tensor.name} is written transposed"
        yield Hypothesis("transposed output", text, _transposed(kernel, tensor))


def _narrowed(tensor: Tensor) -> Iterator[Hypothesis]:
    width = 8 * np.dtype(tensor.dtype).itemsize
    for bits in (8, 16, 20, 24, 32):
        if bits < width:
            name = tensor.name
            yield Hypothesis(
                f"saturation at {bits} bits",
                f"{name} is limited to {bits} bits",
                _changed(name, _limit(bits)),
            )
            yield Hypothesis(
                f"read-out of {bits} bits",
                f"only the low {bits} bits of {name} are kept, with sign",
                _changed(name, _wrap(bits)),
            )


def _limit(bits: int) -> Change:
    high = (1 << (bits - 1)) - 1
    return lambda array: np.clip(array, -high - 1, high)


def _wrap(bits: int) -> Change:
    half = 1 << (bits - 1)
    return lambda array: (array.astype(np.int64) + half) % (2 * half) - half


def _changed(name: str, change: Change) -> Callable[[Fact], CallResult | None]:
    def predict(fact: Fact) -> CallResult | None:
        array = fact.expected.outputs[name]
        outputs = {**fact.expected.outputs, name: change(array).astype(array.dtype)}
        return replace(fact.expected, outputs=outputs)

    return predict


def _transposed(kernel: Kernel, tensor: Tensor) -> Callable[[Fact], CallResult | None]:
    def predict(fact: Fact) -> CallResult | None:
        shape = shape_of(kernel, tensor, fact.case.dims)
        array = fact.expected.outputs[tensor.name]
        if len(shape) != 2:
            columns = columns_of(kernel, tensor, fact.case.dims, fact.case.scalars)
            if columns <= 0 or array.size % columns:
                return fact.expected
            shape = array.size // columns, columns
        turned = np.ascontiguousarray(array.reshape(shape).T).reshape(-1)
        return replace(fact.expected, outputs={**fact.expected.outputs, tensor.name: turned})

    return predict
