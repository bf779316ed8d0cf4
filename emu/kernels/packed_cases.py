"""Dimensions and contents that both packed dot products are tested with.

Narrow partial sums overflow in long runs of one sign only; random signs would cancel and hide it. So rows may
be long, and ``run`` makes all products of a row push one way.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from emu.kernels.shapes import COLS
from emu.kernels.spec import Dim, Dims

Array = np.ndarray[Any, Any]

LONG = 8456
"""Columns after which 16 lanes of 16 bits have overflowed: 528 products of 127 each, and a tail of 8."""

LONG_COLS: Final = Dim("cols", 0, LONG, special=(*COLS.special, LONG))
RUN: Final = Dim("run", 0, 11)
UP, DOWN = 1, 2
"""Values of ``run``: all weights at their largest, or at their smallest, and all activations at 127."""


def fill_run(dims: Dims, array: Array) -> None:
    """Set all activations to 127 when the case is a run."""
    if dims["run"] in (UP, DOWN):
        array[...] = 127
