"""The stream of cases: the same for a seed, independent of how it is cut, and varied where faults hide."""

from __future__ import annotations

import numpy as np
import pytest
from faulty import KERNELS
from hypothesis import given
from hypothesis import strategies as st

from emu.kernels.spec import AND, Dim, Kernel, Tensor
from emu.verify.case import fault_named, materialise
from emu.verify.shapes import all_dims, elements, shape_of, tensors
from emu.verify.strategies import CHUNK, LARGE_ELEMENTS, cases, chunk_plans, fit, plans, size_pool

SYMBOLS = ["dot_rows_s8", "exp_array", "quantize_row_s8", "gemm_s8_c", "digest_end", "crc32_bytes"]


def same(a, b):
    return (
        (a.dims, a.offsets, a.dirty, a.fault, a.content) == (b.dims, b.offsets, b.dirty, b.fault, b.content)
        and {k: v.tobytes() for k, v in a.scalars.items()} == {k: v.tobytes() for k, v in b.scalars.items()}
        and a.arrays.keys() == b.arrays.keys()
        and all(a.arrays[k].tobytes() == b.arrays[k].tobytes() for k in a.arrays)
    )


@pytest.mark.parametrize("symbol", SYMBOLS)
def test_an_example_depends_on_seed_and_number_only(symbol):
    kernel = KERNELS[symbol]
    whole = dict(cases(kernel, 5, 0, 2 * CHUNK))
    assert sorted(whole) == list(range(2 * CHUNK))
    for number in (0, 1, 77, CHUNK - 1, CHUNK, 2 * CHUNK - 1):
        (again,) = cases(kernel, 5, number, 1)
        assert again[0] == number
        assert same(again[1], whole[number])
        assert whole[number].origin == {"seed": 5, "example": number}
    other = dict(cases(kernel, 6, 0, 40))
    assert not all(same(other[n], whole[n]) for n in range(40))


@pytest.mark.parametrize("symbol", KERNELS)
def test_variety(symbol):
    kernel = KERNELS[symbol]
    chosen = [p for seed in range(3) for p in chunk_plans(kernel, seed, 0)]
    assert len({p.content for p in chosen}) > len(chosen) * 0.7
    for i, tensor in enumerate(tensors(kernel)):
        step = max(tensor.align, np.dtype(tensor.dtype).itemsize)
        assert {p.offsets[i] for p in chosen} == set(range(0, 16, step) if step < 16 else {0})
    for dim in kernel.dims:
        values = [p.dims[dim.name] for p in chosen]
        assert min(values) == dim.low
        assert len(set(values)) >= min((dim.high - dim.low) // dim.multiple + 1, 10) * 0.6
        if dim.name == "rows":
            assert np.mean(np.array(values) >= 2) > 0.5
        if dim.name in ("cols", "n") and dim.high >= 300:
            assert {v % 16 for v in values} == set(range(16))
    refused = {p.fault for p in chosen if p.fault >= 0}
    assert len(refused) >= min(len(kernel.faults), 5)


@pytest.mark.parametrize("symbol", KERNELS)
def test_cases_fit_their_spec(symbol):
    kernel = KERNELS[symbol]
    for _, case in cases(kernel, 1, 0, 40):
        for tensor in tensors(kernel):
            if tensor.role == "out":
                assert tensor.name not in case.arrays
                continue
            array = case.arrays[tensor.name]
            assert array.dtype == np.dtype(tensor.dtype)
            assert array.size == np.prod(shape_of(kernel, tensor, case.dims))
        for param in kernel.params:
            if not isinstance(param, Tensor):
                assert case.scalars[param.name].dtype == np.dtype(param.dtype)


def test_refused_calls_break_what_they_name():
    kernel = KERNELS["dot_rows_s8"]
    seen = set()
    for seed in range(12):
        for _, case in cases(kernel, seed, 0, CHUNK):
            if case.fault:
                seen.add(case.fault)
                fault = fault_named(kernel, case.fault)
                assert (case.offsets["x"] % 16 != 0) == ("x" in fault.misalign)
                assert (case.scalars["rows"] < 0) == ("negative rows" in case.fault)
    names = {f.name for f in kernel.faults}
    assert names < seen
    assert {part for name in seen for part in name.split(AND)} == names


@given(st.data())
def test_plans_strategy_is_plain_hypothesis(data):
    kernel = KERNELS[data.draw(st.sampled_from(SYMBOLS))]
    case = materialise(kernel, data.draw(plans(kernel)))
    assert case.kernel == kernel.symbol


def test_size_pool_keeps_range_and_steps():
    for dim in (
        Dim("n", 0, 300),
        Dim("m", 16, 256, multiple=16),
        Dim("k", 3, 3),
        Dim("b", 1, 5, special=(2,)),
    ):
        pool = size_pool(dim)
        assert pool
        assert all(dim.low <= v <= dim.high for v in pool)
        assert all((v - dim.low) % dim.multiple == 0 for v in pool)
    assert {15, 16, 17, 31, 33, 300} <= set(size_pool(Dim("n", 0, 300)))


def test_fit_halves_what_matters():
    kernel = Kernel(
        "k",
        (Tensor("x", "int8", ("rows", "cols")),),
        lambda x: None,
        dims=(Dim("rows", 1, 10**6), Dim("cols", 1, 10**6), Dim("bits", 0, 2**31)),
    )
    dims = fit(kernel, {"rows": 10**6, "cols": 10**5, "bits": 2**31}, LARGE_ELEMENTS)
    assert elements(kernel, all_dims(kernel, dims)) <= LARGE_ELEMENTS
    assert dims["bits"] == 2**31
    assert dims["cols"] > 100
