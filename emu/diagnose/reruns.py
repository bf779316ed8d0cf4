"""Reasons that show when the image runs again with other surroundings: padding and NaN.

Neither compares numbers with a model of the fault: the elements in question are changed, and whether the two
sides agree then is looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from emu.diagnose.evidence import Evidence, Fact, same
from emu.diagnose.reasons import Proof, Reason
from emu.kernels.spec import Kernel, Tensor
from emu.verify.case import Case
from emu.verify.errors import TargetFault, ToolError
from emu.verify.families import Array
from emu.verify.reduce import neutral_of
from emu.verify.shapes import scalars, tensors
from emu.verify.target import CallResult, Target

_MOST = 96
"""Elements of a case that are changed one by one."""
_CONTENTS = 3
"""Random contents with which an element must stay without effect to count as unread."""
_OTHERS = 12
"""Other cases whose numbers are tried."""
_FILLERS = (0.0, 1.0, -2.5)


class Reruns:
    """Runs cases of one kernel again on both sides."""

    def __init__(self, evidence: Evidence, reference: Target, target: Target) -> None:
        self._evidence = evidence
        self._kernel: Kernel = evidence.kernel
        self._reference, self._target = reference, target

    def reasons(self) -> Iterator[Reason]:
        """What was found."""
        differing = self._evidence.differing
        if not differing:
            return
        yield from self._padding(differing[0])
        yield from self._nan(differing)

    # --- elements that the mirror does not read -------------------------------------------------------------
    def _padding(self, fact: Fact) -> Iterator[Reason]:
        for tensor in tensors(self._kernel):
            if tensor.role == "in" and 0 < fact.case.arrays[tensor.name].size <= _MOST:
                size = fact.case.arrays[tensor.name].size
                moved = [
                    i
                    for i in range(size)
                    if self._moves(fact, tensor, i) and self._is_unread(fact, tensor, i)
                ]
                if moved:
                    yield self._padding_reason(fact, tensor, moved)

    def _moves(self, fact: Fact, tensor: Tensor, place: int) -> bool:
        """Whether an element changes what the image does, but not what the mirror does."""
        array = fact.case.arrays[tensor.name].copy()
        raw = array.view(np.uint8)
        at = place * array.itemsize
        raw[at : at + array.itemsize] ^= 0x15
        case = _with(fact.case, tensor, array)
        expected, actual = self._expected(case), self._actual(case)
        if expected is None or actual is None or not same(self._kernel, case, fact.expected, expected):
            return False
        return not same(self._kernel, case, fact.actual, actual)

    def _is_unread(self, fact: Fact, tensor: Tensor, place: int) -> bool:
        """Whether the mirror leaves an element alone whatever the other inputs hold.

        Numbers too: between the limits of a shrunk case, every value may come out the same.
        """
        for seed, numbers in enumerate(self._numbers(fact)):
            rng = np.random.default_rng(seed)
            arrays = {n: _small_numbers(rng, a) for n, a in fact.case.arrays.items()}
            case = replace(fact.case, arrays=arrays, scalars=numbers)
            other = arrays[tensor.name].copy()
            other[place] += 1
            before, after = self._expected(case), self._expected(_with(case, tensor, other))
            if before is None or after is None or not same(self._kernel, case, before, after):
                return False
        return True

    def _numbers(self, fact: Fact) -> Iterator[dict[str, Any]]:
        """The numbers of the case, a few times, and those of other cases in its sizes."""
        yield from [fact.case.scalars] * _CONTENTS
        drawn = [s.name for s in scalars(self._kernel) if s.value is None]
        for other in self._evidence.facts[:_OTHERS] if drawn else ():
            yield {**fact.case.scalars, **{n: other.case.scalars[n] for n in drawn}}

    def _padding_reason(self, fact: Fact, tensor: Tensor, moved: list[int]) -> Reason:
        array = fact.case.arrays[tensor.name].copy()
        array[np.array(moved)] = neutral_of(tensor)
        case = _with(fact.case, tensor, array)
        expected, actual = self._expected(case), self._actual(case)
        mends = expected is not None and actual is not None and same(self._kernel, case, expected, actual)
        places = ", ".join(map(str, moved[:8])) + (", ..." if len(moved) > 8 else "")
        text = f"elements of {tensor.name} count in the image that do not count in the mirror: {places}"
        line = (
            "the two agree when these elements are neutral" if mends else "making them neutral is not enough"
        )
        return Reason("stale padding", text, Proof.PROVED if mends else Proof.SEEN, (line,))

    # --- NaN ----------------------------------------------------------------------------------
    def _nan(self, differing: list[Fact]) -> Iterator[Reason]:
        """Do the two agree wherever no input is NaN?"""
        if not all(_nan_places(self._kernel, fact.case) for fact in differing):
            return
        if any(not self._agrees_without_nan(fact.case, f) for fact in differing for f in _FILLERS):
            return
        plain = sum(not fact.differs for fact in self._evidence.facts)
        text = "every differing case has a NaN among its inputs, and agrees when it is a number instead"
        yield Reason(
            "NaN handling", text, Proof.PROVED, (f"{len(differing)} differing cases, {plain} equal",)
        )

    def _agrees_without_nan(self, case: Case, filler: float) -> bool:
        arrays = {n: _filled(a, filler) for n, a in case.arrays.items()}
        scalars = {n: _filled(np.array(v), filler)[()] for n, v in case.scalars.items()}
        other = replace(case, arrays=arrays, scalars=scalars)
        expected, actual = self._expected(other), self._actual(other)
        return expected is not None and actual is not None and same(self._kernel, other, expected, actual)

    def _expected(self, case: Case) -> CallResult | None:
        try:
            return self._reference.call(self._kernel, case)
        except ToolError:
            return None

    def _actual(self, case: Case) -> CallResult | None:
        try:
            return self._target.call(self._kernel, case)
        except TargetFault:
            return None


def _with(case: Case, tensor: Tensor, array: Array) -> Case:
    return replace(case, arrays={**case.arrays, tensor.name: array})


def _nan_places(kernel: Kernel, case: Case) -> int:
    values = [*case.arrays.values(), *(np.array(v) for v in case.scalars.values())]
    return sum(int(np.isnan(v).sum()) for v in values if v.dtype.kind == "f")


def _filled(array: Array, filler: float) -> Array:
    if array.dtype.kind != "f":
        return array
    return np.where(np.isnan(array), array.dtype.type(filler), array).astype(array.dtype)


def _small_numbers(rng: np.random.Generator, array: Array) -> Array:
    """Numbers from 1 on that make every product count."""
    return rng.integers(1, 100, array.size).astype(array.dtype)
