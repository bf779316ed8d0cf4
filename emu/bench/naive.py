"""The product of int8 matrices as anyone would write it with numba: three loops, one thread.

The sums have the type of the result. With int64, which is what numba makes of Python's numbers, they stay
wide, and the loop takes more than twice as long as with int32.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numba
import numpy as np

from emu.bench.peers import Call


def _product(x: Any, w: Any, acc: Any) -> None:
    rows, cols = x.shape
    outs = w.shape[0]
    for r in range(rows):
        for o in range(outs):
            total = np.int64(0)
            for c in range(cols):
                total += np.int32(x[r, c]) * np.int32(w[o, c])
            acc[r, o] = total


@cache
def _compiled() -> Any:
    return numba.njit(_product)


def naive_product(x: Any, w: Any, acc: Any) -> Call:
    """acc int32 or int64 [rows][outs] = x int8 [rows][cols] times the transpose of w int8 [outs][cols].

    The returned call is compiled already.
    """
    function = _compiled()
    function(x, w, acc)
    return lambda: function(x, w, acc)
