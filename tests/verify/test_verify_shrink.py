"""Quality of shrinking: every planted fault is found within the default examples and made small."""

from __future__ import annotations

import numpy as np
import pytest
from faulty import KERNELS, PLANTED, FaultyTarget, runner

from emu.verify.case import Case
from emu.verify.check import check
from emu.verify.errors import TargetFault
from emu.verify.strategies import cases
from emu.verify.target import MirrorTarget


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name", PLANTED)
def test_planted_fault_is_found_and_small(name, seed):
    symbol, mirror = PLANTED[name]
    kernel = KERNELS[symbol]
    piece = runner({symbol: mirror}, seed=seed).run(kernel, 0, cases(kernel, seed, 0, 200))
    assert not piece.error
    failure = piece.failure
    assert failure is not None, f"{name} was not found in 200 examples"
    assert failure.weight <= 4
    assert failure.outcome.mismatch is not None
    again = check(kernel, failure.case, MirrorTarget(), FaultyTarget({symbol: mirror}))
    assert again.mismatch == failure.outcome.mismatch
    assert set(failure.case.offsets.values()) == {0}


def _shrunk(symbol, mirror):
    kernel = KERNELS[symbol]
    piece = runner({symbol: mirror}).run(kernel, 0, cases(kernel, 0, 0, 200))
    assert piece.failure is not None
    return piece.failure


def test_sizes_are_the_smallest_that_show_it():
    tail = _shrunk(*PLANTED["tail skipped"]).case
    assert (tail.dims["rows"], tail.dims["cols"]) == (1, 1)
    loop = _shrunk(*PLANTED["loop end early"]).case
    assert (loop.dims["rows"], loop.dims["cols"]) == (1, 17)
    stride = _shrunk(*PLANTED["row stride off by 16"]).case
    assert stride.dims["rows"] == 2
    assert _shrunk(*PLANTED["round half up"]).case.dims["n"] == 1


def test_values_become_simple():
    case = _shrunk(*PLANTED["sign lost"]).case
    assert sorted(case.arrays["x"][case.arrays["x"] != 0].tolist()) == [-1]
    assert abs(int(case.arrays["w"][case.arrays["w"] != 0][0])) == 1


def test_fault_shrinks_as_a_fault_of_the_same_kind():
    def endless(x, y, n):
        if n > 3 and (x == 0).any():
            raise TargetFault("budget", "endless", "")
        if n > 3:
            raise TargetFault("load", "elsewhere", "")
        KERNELS["exp_array"].mirror(x, y, n)

    failure = _shrunk("exp_array", endless)
    first = failure.drawn_outcome.fault
    assert first is not None
    assert failure.outcome.fault is not None
    assert failure.outcome.fault.kind == first.kind
    assert failure.case.dims["n"] == 4


def test_dependence_on_the_pointer_survives():
    def misplaced(x, y, n):
        KERNELS["exp_array"].mirror(x, y, n)
        if x.ctypes.data % 16 == 12 and n:
            y[0] = 7

    failure = _shrunk("exp_array", misplaced)
    assert failure.case.offsets["x"] == 12
    assert failure.case.offsets["y"] == 0
    assert failure.case.dims["n"] == 1


def test_limits_are_kept():
    calls = 0

    class Counting(FaultyTarget):
        def call(self, kernel, case: Case):
            nonlocal calls
            calls += 1
            return super().call(kernel, case)

    symbol, mirror = PLANTED["accumulator not zeroed"]
    made = runner({}, shrink_calls=25)
    made.target = Counting({symbol: mirror})
    kernel = KERNELS[symbol]
    number, case = next((n, c) for n, c in cases(kernel, 0, 0, 200) if made.check(kernel, c).bad)
    calls = 0
    failure = made.failure(kernel, number, case, made.check(kernel, case))
    assert failure.shrink_calls == 25
    assert calls == 26
    assert made.check(kernel, failure.case).bad


def test_shrinking_never_changes_what_the_fill_dictates():
    failure = _shrunk(*PLANTED["nibbles swapped"])
    case = failure.case
    kernel = KERNELS["dot_groups_int4"]
    w, x = (next(t for t in kernel.params if t.name == name) for name in ("w", "x"))
    for tensor in (w, x):
        again = case.arrays[tensor.name].copy()
        tensor.fill(case.dims, np.random.default_rng(0), again)
        assert np.array_equal(again, case.arrays[tensor.name])
