"""Recorded calls of kernels, each run again in isolation and compared with its mirror."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from emu.bisect.kernel_calls import KernelCall
from emu.image import Image
from emu.kernels.spec import Kernel
from emu.verify.case import Case, refill
from emu.verify.check import Outcome, check
from emu.verify.errors import ToolError, UsageProblem
from emu.verify.families import Array
from emu.verify.image_target import ImageTarget
from emu.verify.options import Options
from emu.verify.shapes import tensors
from emu.verify.target import MirrorTarget

_OTHER_CONTENT = 0x9E3779B97F4A7C15


@dataclass
class Replayed:
    """What the calls of a stage did when they were replayed. ``wrong``: the first that differs, innermost
    where kernels call kernels. ``broken``: a rule of its spec that its caller breaks, "" when none.
    """

    calls: int = 0
    skipped: int = 0
    wrong: KernelCall | None = None
    outcome: Outcome | None = None
    broken: str = ""


class Replayer:
    """Runs recorded calls on one image and on the mirrors."""

    def __init__(self, image: Image, fused: str = "fused", tier: str = "translator") -> None:
        self.options = Options(elf=None, bounds=False, fused=fused, tier=tier)
        self.reference = MirrorTarget()
        self.target = ImageTarget(image, self.options)

    def check(self, kernel: Kernel, case: Case) -> Outcome:
        """One case on the mirror and on the image."""
        return check(kernel, case, self.reference, self.target)

    def first_wrong(self, calls: Sequence[KernelCall]) -> Replayed:
        """Replay calls in their order up to the first that differs from its mirror."""
        found = Replayed()
        for place, call in enumerate(calls):
            outcome = self._outcome(call, found)
            if outcome is not None and outcome.bad:
                found.wrong, found.outcome = self._innermost(call, outcome, calls[place + 1 :], found)
                found.broken = broken_rule(found.wrong)
                break
        return found

    def _outcome(self, call: KernelCall, found: Replayed) -> Outcome | None:
        if call.case is None:
            found.skipped += 1
            return None
        found.calls += 1
        try:
            return self.check(call.kernel, call.case)
        except (ToolError, UsageProblem) as error:
            call.trouble = str(error).splitlines()[0]
            found.skipped += 1
            return None

    def _innermost(
        self, call: KernelCall, outcome: Outcome, later: Sequence[KernelCall], found: Replayed
    ) -> tuple[KernelCall, Outcome]:
        """The first wrong one of the calls made inside of ``call``; it itself when there is none."""
        for place, inner in enumerate(later):
            if inner.stack >= call.stack:
                break
            again = self._outcome(inner, found)
            if again is not None and again.bad:
                return self._innermost(inner, again, later[place + 1 :], found)
        return call, outcome


def broken_rule(call: KernelCall) -> str:
    """What the caller owes the kernel and did not give: padding or packing that the spec's fill dictates."""
    case = call.case
    for index, tensor in enumerate(tensors(call.kernel)):
        if case is None or tensor.fill is None or tensor.role == "out" or tensor.dtype.startswith("float"):
            continue
        given = case.arrays[tensor.name]
        wanted = _dictated(call, case, index)
        if wanted is not None and wanted.tobytes() != given.tobytes():
            at = int(np.flatnonzero(_raw(wanted) != _raw(given))[0]) // given.itemsize
            return (
                f"{call.symbol} gets a {tensor.name} that its spec excludes: element {at} is {given[at]}, it "
                f"must be {wanted[at]} (padding or packing)"
            )
    return ""


def _dictated(call: KernelCall, case: Case, index: int) -> Array | None:
    """The tensor as the spec's fill leaves it; None where that follows from more than the arguments (random
    contents, sizes that no argument tells).
    """
    found = []
    for step in range(3):
        dims = {name: size + step * (name in call.free) for name, size in case.dims.items()}
        array = case.arrays[tensors(call.kernel)[index].name].copy()
        try:
            refill(call.kernel, tensors(call.kernel)[index], dims, array, step * _OTHER_CONTENT, index)
        except UsageProblem:
            return None
        found.append(array)
    return found[0] if len({array.tobytes() for array in found}) == 1 else None


def _raw(array: Array) -> Array:
    return array.view(np.uint8)
