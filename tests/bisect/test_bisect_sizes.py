"""Arguments of a call back to the sizes of the spec: the inverse of what every drawn case does."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

from emu.bisect.sizes import sizes_of
from emu.kernels import load_all
from emu.kernels.spec import Scalar
from emu.verify.shapes import shape_of, tensors
from emu.verify.strategies import cases

KERNELS = load_all()


@pytest.mark.parametrize("symbol", sorted(KERNELS))
def test_sizes_of_drawn_cases_come_back(symbol: str):
    """Every tensor gets the shape that the case has, from its scalar arguments alone."""
    kernel = KERNELS[symbol]
    for _, case in islice(cases(kernel, 0, 0, 12), 12):
        if case.fault:
            continue
        values = {n: int(v) for n, v in case.scalars.items() if isinstance(v, np.integer)}
        found = sizes_of(kernel, values)
        for tensor in tensors(kernel):
            if not _is_told(kernel, tensor):
                continue
            assert shape_of(kernel, tensor, found.dims) == shape_of(kernel, tensor, case.dims), tensor.name


def _is_told(kernel, tensor) -> bool:
    """Sizes that no argument tells (a vocabulary, a table) cannot come back."""
    named = {s.value for s in kernel.params if isinstance(s, Scalar) and isinstance(s.value, str)}
    return all(
        not isinstance(entry, str) or entry in named or entry in kernel.derived for entry in tensor.shape
    )


def test_large_gaps_of_a_model_are_found():
    kernel = KERNELS["accumulate_q8"]
    values = {"x_stride": 96, "rows": 128, "w_stride": 576, "outs": 192, "cols": 96, "y_stride": 192}
    found = sizes_of(kernel, values)
    assert found.is_exact
    assert found.dims["w_gap"] == 30
    assert found.dims["w_stride"] == 576


def test_sizes_that_the_spec_cannot_derive_are_taken_as_they_are():
    kernel = KERNELS["accumulate_q8"]
    values = {"x_stride": 97, "rows": 2, "w_stride": 96, "outs": 3, "cols": 96, "y_stride": 3}
    found = sizes_of(kernel, values)
    assert not found.is_exact
    assert found.dims["x_stride"] == 97
