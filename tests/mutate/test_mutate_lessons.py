"""What survivors of mutation campaigns taught the generators: kinds of cases that must be drawn."""

from __future__ import annotations

import numpy as np
import pytest

from emu.kernels import load_all
from emu.kernels.shapes import FAR_TOO_MANY, MOST, below_zero, too_short
from emu.verify.case import materialise
from emu.verify.image_target import BOUNDS_ELEMENTS, ImageTarget
from emu.verify.options import Options
from emu.verify.reference import reference_elf
from emu.verify.shapes import all_dims, elements, tensors
from emu.verify.strategies import chunk_plans, offset_choices

KERNELS = load_all()
REFUSING = [k for k in KERNELS.values() if k.faults]


@pytest.mark.parametrize("kernel", REFUSING, ids=lambda k: k.symbol)
def test_every_refused_call_is_among_the_default_examples(kernel):
    """Taken at random, some kinds had no example in 200: a missing check of them survived."""
    assert {p.fault for p in chunk_plans(kernel, 0, 0)} >= set(range(len(kernel.faults)))


def test_refused_sizes_also_have_good_low_bits():
    """A half word load of a stride that is never larger than a half word cannot be seen otherwise."""
    dims = [{"rows": 3, "x_stride": 48, "cols": 40, "other": i} for i in range(3)]
    rows = {below_zero("rows")(d) for d in dims}
    assert rows == {-1, 3 - 65536, 3 - (1 << 31)}
    strides = {too_short("x_stride", "cols")(d) for d in dims}
    assert strides == {39, 48 - 65536, 48 - (1 << 31)}
    for value in (*rows, *strides):
        assert -(1 << 31) <= value < 48


@pytest.mark.parametrize(
    "symbol", ["dot_rows_s8", "gemm_s8", "dot_rows_ternary", "linear_q8", "linear_ternary"]
)
def test_the_ends_of_the_number_of_columns_are_tried(symbol):
    kernel = KERNELS[symbol]
    cols = {f.scalars["cols"]: f.status for f in kernel.faults if isinstance(f.scalars.get("cols"), int)}
    assert cols[MOST] == 0
    assert cols[MOST + 1] == 2
    assert cols[FAR_TOO_MANY] == 2


def test_a_pointer_and_its_stride_are_off_by_the_same():
    """An exclusive or in the place of an or lets both through."""
    kernel = KERNELS["gemm_s8"]
    number = next(i for i, f in enumerate(kernel.faults) if f.name == "x and x_stride off alike")
    cases = [materialise(kernel, p) for c in range(8) for p in chunk_plans(kernel, 0, c) if p.fault == number]
    assert any(case.offsets["x"] == case.scalars["x_stride"] % 16 == 8 for case in cases)


def test_a_third_of_free_pointers_is_aligned():
    """Quicker ways for aligned data are taken only then; all other offsets stay."""
    free = [
        t for k in KERNELS.values() for t in tensors(k) if t.align == 1 and np.dtype(t.dtype).itemsize == 1
    ]
    assert free
    for tensor in free:
        choices = offset_choices(tensor)
        assert set(choices) == set(range(16))
        assert choices.count(0) / len(choices) > 0.3


def test_whole_vectors_of_channels_with_relu_are_copied_in_a_default_campaign():
    kernel = KERNELS["conv3x3_s8"]
    cases = [materialise(kernel, p) for p in chunk_plans(kernel, 0, 0)]
    fast = [c for c in cases if c.offsets["x"] == 0 and c.dims["channels"] % 16 == 0 and not c.fault]
    assert any(c.dims["relu"] and c.dims["channels"] >= 32 for c in fast)
    assert any(not c.dims["relu"] for c in fast)


def test_logits_that_are_not_finite_occur():
    kernel = KERNELS["attention_q8"]
    cases = [materialise(kernel, p) for p in chunk_plans(kernel, 0, 0)]
    assert any((case.arrays["sq"] > 1e38).any() for case in cases)


def test_every_kernel_has_cases_under_the_permission_map():
    """A read one element behind a buffer shows in nothing else."""
    target = ImageTarget(reference_elf(), Options(elf=reference_elf()))
    for kernel in KERNELS.values():
        limit = target._bounds_limit(kernel)
        assert limit >= BOUNDS_ELEMENTS
        sizes = [elements(kernel, all_dims(kernel, p.dims)) for p in chunk_plans(kernel, 0, 0)]
        small = sum(size <= limit for size in sizes)
        assert small >= 8, f"{kernel.symbol}: {small} cases of {min(sizes)} to {max(sizes)} elements"
