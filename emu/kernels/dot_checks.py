"""What every integer dot product checks before it reads anything (docs/numerics.md section 9).

The order is fixed: negative sizes and short strides, then too many columns, then alignment.
"""

from __future__ import annotations

import numpy as np

from emu.numerics.jit import jit
from emu.numerics.status import MAX_COLUMNS
from emu.numerics.types import AnyArray

# Plain integers: inside compiled code a member of an enum would not be one.
OK, BAD_ARGUMENT, TOO_MANY_COLUMNS, MISALIGNED = 0, 1, 2, 3


@jit
def misaligned(array: AnyArray) -> bool:
    """True when the array does not start at a multiple of 16 bytes."""
    return (array.ctypes.data & 15) != 0


@jit
def check_sizes(rows: np.int32, cols: np.int32, x_stride: np.int32, acc_room: np.int32) -> int:
    """Status of the sizes; ``acc_room`` is acc_stride minus the least stride allowed."""
    if rows < 0 or cols < 0 or x_stride < cols or acc_room < 0:
        return BAD_ARGUMENT
    if cols > MAX_COLUMNS:
        return TOO_MANY_COLUMNS
    return OK
