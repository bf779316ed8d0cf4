"""int4 weights with a binary16 scale per group, offline (docs/numerics.md section 8)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from emu.numerics.packed import finite_matrix, padded, refuse
from emu.numerics.types import AnyArray, F64Array, S8Array, U8Array

F16Array = npt.NDArray[np.float16]


def int4_groups(cols: int, group: int) -> int:
    """Groups of a row: every row starts a new one, the last may be short; ``group`` a multiple of 16."""
    if group < 16 or group % 16:
        raise ValueError(f"an int4 group must be a positive multiple of 16 columns, not {group}")
    return -(-cols // group)


def int4_weights(weights: AnyArray, group: int, name: str = "weights") -> tuple[S8Array, F16Array]:
    """Quantize a matrix [rows][cols]: (codes int8 -7..7 [rows][cols], scales float16 [rows][groups]).

    Scale = max |w| of the group / 7 in double, rounded to binary16; codes use the rounded scale. A group
    whose scale rounds to 0 has codes 0. Raises PackedCodeError when a scale is infinite or a weight is not
    finite.
    """
    matrix = finite_matrix(weights, name)
    rows, cols = matrix.shape
    groups = int4_groups(cols, group)
    largest = np.zeros((rows, groups), np.float64)
    for g in range(groups):
        largest[:, g] = np.abs(matrix[:, g * group : (g + 1) * group]).max(axis=1)
    with np.errstate(over="ignore", under="ignore"):
        scales = (largest / 7.0).astype(np.float16)
    wide = np.repeat(scales.astype(np.float64), group, axis=1)[:, :cols]
    refuse(name, np.isinf(wide), "the scale of this group does not fit binary16")
    return _codes(matrix, wide), scales


def _codes(matrix: F64Array, scale: F64Array) -> S8Array:
    quotient = np.divide(matrix, scale, out=np.zeros_like(matrix), where=scale != 0)
    return np.clip(np.rint(quotient), -7, 7).astype(np.int8)


def int4_row_bytes(cols: int, multiple: int = 1) -> int:
    """Bytes of a packed row of ``cols`` weights, rounded up to a multiple."""
    return padded((cols + 1) // 2, multiple)


def pack_int4(codes: AnyArray, row_bytes: int | None = None) -> U8Array:
    """Pack codes [rows][cols] in -7..7 to bytes [rows][row_bytes]: even column in the low nibble.

    Two's complement, the rest of each row 0. Raises ValueError when a code is out of range or a row does not
    fit.
    """
    matrix = np.asarray(codes)
    refuse("codes", (matrix < -7) | (matrix > 7), "an int4 code must be in -7..7")
    rows, cols = matrix.shape
    size = int4_row_bytes(cols) if row_bytes is None else row_bytes
    if size * 2 < cols:
        raise ValueError(f"{cols} int4 weights need {int4_row_bytes(cols)} bytes a row, not {size}")
    nibbles = np.zeros((rows, size * 2), np.uint8)
    nibbles[:, :cols] = matrix.astype(np.int8).view(np.uint8) & 0xF
    return (nibbles[:, 0::2] | (nibbles[:, 1::2] << 4)).astype(np.uint8)


def unpack_int4(packed: U8Array, cols: int, name: str = "weights") -> S8Array:
    """Unpack bytes [rows][row_bytes] to codes [rows][cols] in -7..7.

    Raises PackedCodeError, naming tensor, row and column, for the code -8 and for padding that is not 0.
    """
    rows, size = packed.shape
    if size * 2 < cols:
        raise ValueError(f"{name}: a row of {size} bytes cannot hold {cols} int4 weights")
    nibbles = np.stack((packed & 0xF, packed >> 4), axis=2).reshape(rows, size * 2)
    codes = nibbles.astype(np.int8)
    codes[codes > 7] -= 16
    refuse(name, codes == -8, "the code -8 is not allowed")
    padding = codes != 0
    padding[:, :cols] = False
    refuse(name, padding, "the padding after the row is not 0")
    return codes[:, :cols]
