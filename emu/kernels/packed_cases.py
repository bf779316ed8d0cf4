"""Dimensions and contents that both packed dot products are tested with.

``run`` makes long runs of one sign, where narrow partial sums overflow: random signs would cancel and hide
it. ``stretch`` now and then adds 8,192 columns for the same reason.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from emu.kernels.spec import Dim, Dims

Array = np.ndarray[Any, Any]

STRETCH: Final = Dim("stretch", 0, 31)
STRETCHED = 8192
RUN: Final = Dim("run", 0, 11)
UP, DOWN = 1, 2
"""Values of ``run``: all weights at their largest, or at their smallest, and all activations at 127."""


def columns(dims: Dims) -> int:
    """Columns of the case: the drawn ones, now and then many more."""
    return dims["base_cols"] + (STRETCHED if dims["stretch"] == 1 else 0)


def fill_run(dims: Dims, array: Array) -> None:
    """Set all activations to 127 when the case is a run."""
    if dims["run"] in (UP, DOWN):
        array[...] = 127
