"""Which examples a result rests on: when strategies draw others, it is judged again."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import numpy as np

from emu.kernels.spec import Kernel
from emu.verify.case import Case, Plan, materialise
from emu.verify.strategies import CHUNK, chunk_plans


class Drawn:
    """The examples of the default campaign (seed 0), drawn once, and a digest of their bytes by kernel."""

    def __init__(self, kernels: Mapping[str, Kernel], examples: int) -> None:
        self._kernels = kernels
        self._examples = examples
        self._plans: dict[str, list[Plan]] = {}
        self._digests: dict[str, str] = {}

    def plans(self, symbol: str) -> list[Plan]:
        """The plans of a kernel's examples."""
        if symbol not in self._plans:
            found: list[Plan] = []
            while len(found) < self._examples:
                found += chunk_plans(self._kernels[symbol], 0, len(found) // CHUNK)
            self._plans[symbol] = found[: self._examples]
        return self._plans[symbol]

    def digest(self, symbol: str) -> str:
        """Of everything that a target gets in these examples; "" for a kernel that is not there any more."""
        if symbol not in self._kernels:
            return ""
        if symbol not in self._digests:
            state = hashlib.sha256()
            for plan in self.plans(symbol):
                _add(state, materialise(self._kernels[symbol], plan))
            self._digests[symbol] = state.hexdigest()[:16]
        return self._digests[symbol]


def _add(state: hashlib._Hash, case: Case) -> None:
    numbers = {name: np.asarray(value).tobytes().hex() for name, value in case.scalars.items()}
    state.update(repr((case.dims, case.offsets, numbers, case.dirty, case.fault)).encode())
    for name in sorted(case.arrays):
        state.update(np.ascontiguousarray(case.arrays[name]).tobytes())
