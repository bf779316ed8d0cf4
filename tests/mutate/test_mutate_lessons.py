"""What survivors of mutation campaigns taught the generators: kinds of cases that must be drawn."""

from __future__ import annotations

import numpy as np
import pytest

from emu.kernels import load_all
from emu.kernels.shapes import FAR_TOO_MANY, MOST, below_zero, too_short
from emu.kernels.spec import AND, Fault, each
from emu.numerics.random import before_xorshift32, xorshift32
from emu.verify.case import materialise
from emu.verify.casefit import misfits
from emu.verify.image_target import BOUNDS_ELEMENTS, ImageTarget
from emu.verify.options import Options
from emu.verify.reduce import drawn_dims, with_dims
from emu.verify.reference import reference_elf
from emu.verify.shapes import all_dims, elements, tensors
from emu.verify.strategies import _go_together, chunk_plans, offset_choices
from emu.verify.target import MirrorTarget

KERNELS = load_all()
REFUSING = [k for k in KERNELS.values() if k.faults]
TWICE_WRONG = [k for k in REFUSING if any(_go_together(a, b) for a in k.faults for b in k.faults)]
"""Kernels with calls that can be wrong in two ways."""


@pytest.mark.parametrize("kernel", REFUSING, ids=lambda k: k.symbol)
def test_every_refused_call_is_among_the_default_examples(kernel):
    """Taken at random, some kinds had no example in 200: a missing check of them survived."""
    assert {p.fault for p in chunk_plans(kernel, 0, 0)} >= set(range(len(kernel.faults)))


@pytest.mark.parametrize("kernel", TWICE_WRONG, ids=lambda k: k.symbol)
def test_two_refusals_in_one_call_have_the_status_that_comes_first(kernel):
    """The second one must not hide that the first is not looked at: rows below 0 at a misaligned pointer."""
    mirror, known = MirrorTarget(), {fault.name: fault for fault in kernel.faults}
    plans = [p for seed in range(3) for p in chunk_plans(kernel, seed, 0) if p.also >= 0]
    assert len(plans) >= 3
    for case in (materialise(kernel, plan) for plan in plans):
        first, second = (known[name] for name in case.fault.split(AND))
        allowed = {first.status, second.status} if second.status == 0 else {first.status}
        assert mirror.call(kernel, case).returned in allowed, case.fault


def test_sizes_that_no_half_word_holds():
    """A half word load of a stride or of the columns is seen with rows that long alone."""
    for symbol in ("dot_rows_s8", "gemm_s8", "linear_q8", "accumulate_q8"):
        cases = [materialise(KERNELS[symbol], p) for p in chunk_plans(KERNELS[symbol], 0, 0)]
        valid = [c for c in cases if not c.fault and c.dims["rows"] > 1]
        assert any(c.scalars["x_stride"] >= 1 << 16 and c.scalars["cols"] < 1 << 16 for c in valid)
        assert any(c.scalars["cols"] >= 1 << 16 for c in valid)


@pytest.mark.parametrize("symbol", ["dot_rows_s8", "gemm_s8", "linear_int4_q8"])
def test_cases_beyond_the_ranges_fit_their_spec(symbol):
    """They are saved and replayed like all others, and on the way to the smallest one too."""
    kernel = KERNELS[symbol]
    cases = [materialise(kernel, p) for p in chunk_plans(kernel, 0, 0)]
    assert any(AND in case.fault for case in cases)
    for case in cases:
        assert list(misfits(kernel, case)) == [], case.fault
    if symbol == "dot_rows_s8":
        far = next(c for c in cases if c.dims["x_gap"] > 3 and not c.fault)
        nearer = with_dims(kernel, far, {**drawn_dims(kernel, far), "x_gap": 2048}, {})
        assert list(misfits(kernel, nearer)) == []


def test_states_before_others():
    for word in (1, 0xFF, 0x80000000, 0x12345678, 0xFFFFFFFF):
        assert xorshift32(np.uint32(before_xorshift32(word))) == word


def test_draws_on_the_border_between_two_tokens():
    """Sum > target and sum >= target differ there alone."""
    kernel = KERNELS["sample_f32"]
    exact = 0
    for case in (materialise(kernel, p) for p in chunk_plans(kernel, 0, 0)):
        x, winners = case.arrays["x"], np.flatnonzero(case.arrays["x"] == case.arrays["x"].max(initial=-9))
        if 0 < case.dims["equal"] < 6 and winners.size < x.size:
            target = (int(xorshift32(case.arrays["state"][0])) >> 8) / 2**24 * winners.size
            assert target == int(target)
            exact += 1
    assert exact >= 10


def test_one_logit_alone_is_not_finite():
    kernel = KERNELS["attention_q8"]
    cases = [materialise(kernel, p) for p in chunk_plans(kernel, 0, 0)]
    loud = [c for c in cases if (c.arrays["sq"] > 1e38).any() and (c.arrays["sk"] < 1e-29).any()]
    assert any(c.arrays["sk"][-1] < 1e-29 for c in loud)
    logits = [
        materialise(KERNELS["softmax_s8"], p).arrays["x"] for p in chunk_plans(KERNELS["softmax_s8"], 0, 0)
    ]
    assert any(np.isnan(x[:-1]).any() for x in logits)


def test_biases_and_scales_that_are_not_finite():
    conv = [materialise(KERNELS["conv3x3_add_s8"], p) for p in chunk_plans(KERNELS["conv3x3_add_s8"], 0, 0)]
    assert any(np.isnan(c.arrays["b"]).any() for c in conv if not c.fault)
    kernel = KERNELS["linear_int4_q8"]
    halves = [materialise(kernel, p).arrays["scale"] for p in chunk_plans(kernel, 0, 0)]
    share = np.mean([bool(((scale & 0x7C00) == 0x7C00).any()) for scale in halves])
    assert 0.05 < share < 0.3


def test_an_empty_input_is_not_read():
    """What a function reads of it often does not matter: the permission map tells."""
    target = ImageTarget(reference_elf(), Options(elf=reference_elf()))
    kernel = KERNELS["linear_int4_q8"]
    empty = [
        c for c in (materialise(kernel, p) for p in chunk_plans(kernel, 0, 0)) if not c.arrays["scale"].size
    ]
    small = [c for c in empty if not c.fault and elements(kernel, c.dims) <= target._bounds_limit(kernel)]
    assert len(small) >= 3
    assert all(target._bounded(kernel, case) for case in small)


def test_refused_sizes_also_have_good_low_bits():
    """A half word load of a stride that is never larger than a half word cannot be seen otherwise."""
    dims = {"rows": 3, "x_stride": 48, "cols": 40}
    rows = [rule(dims) for rule in below_zero("rows").rules.values()]
    assert rows == [-1, 3 - 65536, 3 - (1 << 31)]
    strides = [rule(dims) for rule in too_short("x_stride", "cols").rules.values()]
    assert strides == [39, 48 - 65536, 48 - (1 << 31)]
    kinds = list(each(Fault("short", 1, {"x_stride": too_short("x_stride", "cols"), "rows": 2}, ("x",))))
    assert [k.name for k in kinds] == ["short", "short, low half good", "short, all but the sign good"]
    assert all(k.scalars["rows"] == 2 and k.misalign == ("x",) and k.status == 1 for k in kinds)


@pytest.mark.parametrize(
    "symbol", ["dot_rows_s8", "gemm_s8", "dot_rows_ternary", "linear_q8", "linear_ternary"]
)
def test_the_ends_of_the_number_of_columns_are_tried(symbol):
    kernel = KERNELS[symbol]
    cols = {f.scalars["cols"]: f.status for f in kernel.faults if isinstance(f.scalars.get("cols"), int)}
    assert cols[MOST] == 0
    assert cols[MOST + 1] == 2
    assert cols[FAR_TOO_MANY] == 2


ALIKE = [k for k in REFUSING if any("off alike" in f.name and f.misalign for f in k.faults)]


@pytest.mark.parametrize("kernel", ALIKE, ids=lambda k: k.symbol)
def test_pointers_and_strides_that_are_off_alike_are_off_by_the_same(kernel):
    """An exclusive or in the place of an or lets both through: each such call must have equal offsets."""
    numbers = {i for i, f in enumerate(kernel.faults) if "off alike" in f.name and f.misalign}
    plans = [p for chunk in range(4) for p in chunk_plans(kernel, 0, chunk) if p.fault in numbers]
    assert {p.fault for p in plans} == numbers
    for plan in plans:
        case, fault = materialise(kernel, plan), kernel.faults[plan.fault]
        strides = [int(case.scalars[s]) % 16 for s in fault.scalars if s.endswith("stride")]
        assert {case.offsets[name] for name in fault.misalign} | set(strides) == {8}


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
