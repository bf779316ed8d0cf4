"""Saved cases against specs that have changed since: what the spec excludes now blames nobody."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from emu.kernels import load_all
from emu.kernels.spec import Dim, Fault, Kernel, Scalar, Tensor
from emu.verify.case import Case
from emu.verify.casefile import decode, encode
from emu.verify.casefit import misfits
from emu.verify.check import check
from emu.verify.errors import UsageProblem
from emu.verify.memory import Memory
from emu.verify.shrink import Shrinker
from emu.verify.strategies import cases
from emu.verify.target import CallResult, MirrorTarget

KERNELS = load_all()
SOME = (
    "attention_kv8",
    "dot_groups_int4",
    "dot_rows_ternary",
    "gemm_s8",
    "kv8_write",
    "quantize_row_s8",
    "sincos_turn_array",
    "xorshift32_words",
)


def _copy(x, y, n):
    y[:] = x
    return 0


OLD = Kernel(
    "stale",
    (
        Tensor("x", "float32", ("n",)),
        Tensor("y", "float32", ("n",), role="out"),
        Scalar("n", "int32", "n"),
    ),
    _copy,
    dims=(Dim("n", 0, 40),),
    returns="int32",
    faults=(Fault("negative", -1, {"n": -1}),),
)


def old_case() -> Case:
    """17 elements, one of them infinite, x at an odd multiple of 4."""
    for _, case in cases(OLD, 0, 0, 8000):
        if (
            case.dims["n"] > 16
            and case.offsets["x"] == 4
            and np.isinf(case.arrays["x"]).any()
            and not case.fault
        ):
            return case
    raise AssertionError("no such case was drawn")


def _zero_first(dims, rng, array):
    array[:1] = 0


X = OLD.params[0]
CHANGES = {
    "range": {"dims": (Dim("n", 0, 16),)},
    "grid": {"dims": (Dim("n", 0, 1000, multiple=1000),)},
    "name": {"dims": (Dim("m", 0, 40),), "params": (replace(X, shape=("m",)), *OLD.params[1:])},
    "derived": {"derived": {"m": lambda d: 2 * d["n"]}},
    "values": {"params": (replace(X, values="finite"), *OLD.params[1:])},
    "align": {"params": (replace(X, align=16), *OLD.params[1:])},
    "fill": {"params": (replace(X, fill=_zero_first), *OLD.params[1:])},
    "scalar": {"params": (*OLD.params[:2], Scalar("n", "int32", lambda d: d["n"] - 1))},
    "shape": {"params": (replace(X, shape=("n", 2)), *OLD.params[1:])},
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_case_of_another_spec_is_refused_and_forgotten(change: str, tmp_path: Path) -> None:
    case = old_case()
    decode(encode(case), {"stale": OLD})
    new = replace(OLD, **CHANGES[change])
    with pytest.raises(UsageProblem, match="the spec has changed since the case was saved"):
        decode(encode(case), {"stale": new})
    memory = Memory(tmp_path)
    memory.remember(OLD, case)
    assert len(memory.recall(OLD)) == 1
    assert memory.recall(new) == []
    assert memory.recall(OLD) == []


def test_a_refused_call_that_is_gone_is_told() -> None:
    case = next(c for _, c in cases(OLD, 0, 0, 400) if c.fault)
    decode(encode(case), {"stale": OLD})
    with pytest.raises(UsageProblem, match="no refused call named 'negative'"):
        decode(encode(case), {"stale": replace(OLD, faults=())})


@pytest.mark.parametrize(
    "text", [b"[" * 100_000, b'{"format": "esp32s3-emu case", "version": 1, "kernel": []}']
)
def test_odd_documents_have_one_message(text: bytes) -> None:
    with pytest.raises(UsageProblem):
        decode(text, {"stale": OLD})


class _Off(MirrorTarget):
    """A target whose first written element is always wrong."""

    def call(self, kernel: Kernel, case: Case) -> CallResult:
        result = super().call(kernel, case)
        for array in result.outputs.values():
            array.view(np.uint8)[:1] ^= 0x55
        return result


@pytest.mark.parametrize("symbol", [s for s in SOME if s in KERNELS])
def test_drawn_and_shrunk_cases_fit(symbol: str) -> None:
    kernel, mirror, off = KERNELS[symbol], MirrorTarget(), _Off()
    for number, case in cases(kernel, 5, 0, 40):
        assert list(misfits(kernel, case)) == []
        outcome = check(kernel, case, mirror, off)
        if number % 8 == 0 and outcome.bad:
            small = Shrinker(
                kernel, case, outcome, lambda c: check(kernel, c, mirror, off), 5.0, 150
            ).shrink()
            assert list(misfits(kernel, small)) == []
