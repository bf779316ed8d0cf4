"""From a failing case to a small one: sizes down, elements to neutral, values simple, pointers aligned.

Greedy delta debugging, repeated until nothing helps or the limit is reached. The order matters: sizes first
(cropped around the first difference, or with fresh contents), because everything after them costs calls per
element.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np

from emu.kernels.spec import Kernel
from emu.verify import reduce
from emu.verify.case import Case, refill
from emu.verify.check import Outcome
from emu.verify.contents import kinds_for
from emu.verify.errors import ToolError, UsageProblem
from emu.verify.families import Array, family
from emu.verify.shapes import holds, tensors

Runner = Callable[[Case], Outcome]
_FRESH_TRIES = 12
_SPREAD = 0x9E3779B97F4A7C15


class Shrinker:
    """Holds the smallest failing case so far. ``seconds`` and ``calls`` bound the search."""

    def __init__(
        self,
        kernel: Kernel,
        case: Case,
        outcome: Outcome,
        run: Runner,
        seconds: float = 10.0,
        calls: int = 6000,
    ) -> None:
        self.kernel = kernel
        self.case = case
        self.outcome = outcome
        self.calls = 0
        self._run = run
        self._limit = calls
        self._end = time.monotonic() + seconds

    @property
    def exhausted(self) -> bool:
        """True when time or calls are used up."""
        return self.calls >= self._limit or time.monotonic() > self._end

    def shrink(self) -> Case:
        """Run all passes until a whole round changes nothing."""
        passes = (self.sizes, self.elements, self.placements, self.scalars, self.values)
        progress = True
        while progress and not self.exhausted:
            outcomes = [one() for one in passes]
            progress = any(outcomes)
        return self.case

    def attempt(self, candidate: Case) -> bool:
        """Keep ``candidate`` if it fails in the same way."""
        if self.exhausted:
            return False
        self.calls += 1
        if not holds(self.kernel, candidate.dims, candidate.scalars):
            return False
        try:
            outcome = self._run(candidate)
        except (ToolError, UsageProblem):
            return False
        if not outcome.same_kind(self.outcome):
            return False
        self.case, self.outcome = candidate, outcome
        return True

    def sizes(self) -> bool:
        """Each dimension to the smallest size that still fails."""
        changed = False
        for dim in sorted(self.kernel.dims, key=lambda d: -self.case.dims[d.name]):
            sizes = reduce.smaller_sizes(self.kernel, dim.name, self.case.dims[dim.name])
            changed |= any(self._resize(dim.name, size) for size in sizes)
        return changed

    def _resize(self, name: str, size: int) -> bool:
        drawn = {**reduce.drawn_dims(self.kernel, self.case), name: size}
        return any(self.attempt(candidate) for candidate in self._resized(drawn, name, size))

    def _resized(self, drawn: dict[str, int], name: str, size: int) -> Iterator[Case]:
        for kept in self._kept(name, size):
            yield reduce.with_dims(self.kernel, self.case, drawn, {name: kept})
        kinds = sorted({k for t in tensors(self.kernel) for k in kinds_for(family(t.values, t.dtype))})
        for i in range(_FRESH_TRIES):
            content = (self.case.content + (i + 1) * _SPREAD) & ((1 << 64) - 1)
            yield reduce.regenerated(self.kernel, self.case, drawn, kinds[(i + size) % len(kinds)], content)

    def _kept(self, name: str, size: int) -> list[Array]:
        """Positions worth keeping: the start, the end, around the first difference, what is not neutral."""
        current = self.case.dims[name]
        starts = [0, current - size]
        for found in self.outcome.mismatch.differences if self.outcome.mismatch else []:
            for tensor in tensors(self.kernel):
                if tensor.name == found.output and name in tensor.shape:
                    at = found.index[tensor.shape.index(name)]
                    starts = [at - size + 1, at, *starts]
        unique = dict.fromkeys(min(max(s, 0), current - size) for s in starts)
        return [np.arange(s, s + size) for s in unique] + self._gathered(name, size)

    def _gathered(self, name: str, size: int) -> list[Array]:
        """The live positions along a dimension, padded with others, when they fit into ``size``."""
        live: set[int] = set()
        for tensor in tensors(self.kernel):
            if tensor.role != "out" and tensor.shape == (name,) and self.case.arrays[tensor.name].size:
                live.update(reduce.nonneutral(self.kernel, self.case, tensor.name).tolist())
        if not 0 < len(live) <= size:
            return []
        others = [i for i in range(self.case.dims[name]) if i not in live]
        return [np.array(sorted([*live, *others[: size - len(live)]]))]

    def elements(self) -> bool:
        """Elements to neutral: whole tensors, then halves, then ever smaller blocks."""
        changed = False
        for name, again in reduce.free_tensors(self.kernel, self.case).items():
            block = reduce.nonneutral(self.kernel, self.case, name).size
            while block >= 1 and not self.exhausted:
                removed = self._neutralise_blocks(name, block, again)
                changed |= removed
                left = reduce.nonneutral(self.kernel, self.case, name).size
                block = min(block, left) if removed and block > 1 and left else block // 2
        return changed

    def _neutralise_blocks(self, name: str, block: int, again: bool) -> bool:
        changed = False
        live = reduce.nonneutral(self.kernel, self.case, name)
        neutral = next(reduce.neutral_of(t) for t in tensors(self.kernel) if t.name == name)
        for first in range(0, live.size, block):
            array = self.case.arrays[name].copy()
            array[live[first : first + block]] = neutral
            changed |= self._edit(name, array, again)
        return changed

    def _edit(self, name: str, array: Array, again: bool) -> bool:
        if again:
            index = next(i for i, t in enumerate(tensors(self.kernel)) if t.name == name)
            refill(self.kernel, tensors(self.kernel)[index], self.case.dims, array, self.case.content, index)
        if np.array_equal(array.view(np.uint8), self.case.arrays[name].view(np.uint8)):
            return False
        return self.attempt(reduce.with_elements(self.case, name, array))

    def values(self) -> bool:
        """What is left of the elements to simple values (only when few are left)."""
        changed = False
        for name, again in reduce.free_tensors(self.kernel, self.case).items():
            tensor = next(t for t in tensors(self.kernel) if t.name == name)
            if tensor.fill is not None and not again:
                continue
            live = reduce.nonneutral(self.kernel, self.case, name)
            for position in live[:16]:
                changed |= self._simplify(name, int(position), again)
        return changed

    def _simplify(self, name: str, position: int, again: bool) -> bool:
        allowed = family(*next((t.values, t.dtype) for t in tensors(self.kernel) if t.name == name)).specials
        for value in reduce.simpler_values(self.case.arrays[name][position]):
            if allowed.dtype == np.uint8 and value not in allowed:
                continue
            if not allowed.min() <= value <= allowed.max():
                continue
            array = self.case.arrays[name].copy()
            array[position] = value
            if self._edit(name, array, again):
                return True
        return False

    def placements(self) -> bool:
        """Pointers aligned, registers clean."""
        kept = [self.attempt(c) for c in reduce.simpler_placements(self.kernel, self.case)]
        return any(kept)

    def scalars(self) -> bool:
        """Generated scalars simple."""
        return any(self.attempt(c) for c in reduce.simpler_scalars(self.kernel, self.case))
