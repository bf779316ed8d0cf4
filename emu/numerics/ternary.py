"""Ternary weights, offline: quantize in double, pack four codes a byte (docs/numerics.md section 8)."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from emu.numerics.packed import finite_matrix, padded, refuse
from emu.numerics.types import AnyArray, S8Array, U8Array

ZERO_BYTE: Final = 0x55
"""Four codes 01: the weight 0 four times, and the padding of rows."""

_SHIFTS = np.array([0, 2, 4, 6], np.uint8)


def ternary_weights(weights: AnyArray, name: str = "weights") -> tuple[S8Array, np.float32]:
    """Quantize a matrix [rows][cols]: (codes int8 -1, 0, +1 of the same shape, scale as stored).

    scale = max(mean |w|, 1e-5); the mean is the correctly rounded sum divided by the count, so it does not
    depend on an order of summation. Codes use the double scale, the file its binary32 rounding.
    """
    matrix = finite_matrix(weights, name)
    total = math.fsum(np.abs(matrix).ravel().tolist())
    scale = max(total / max(matrix.size, 1), 1e-5)
    codes = np.clip(np.rint(matrix / scale), -1, 1).astype(np.int8)
    return codes, np.float32(scale)


def ternary_row_bytes(cols: int, multiple: int = 1) -> int:
    """Bytes of a packed row of ``cols`` weights, rounded up to a multiple."""
    return padded(-(-cols // 4), multiple)


def pack_ternary(codes: AnyArray, row_bytes: int | None = None) -> U8Array:
    """Pack codes [rows][cols] in -1..1 to bytes [rows][row_bytes]: 00, 01, 10, first weight in the low bits.

    The rest of each row is filled with 01. Raises ValueError when a code is out of range or a row does not
    fit.
    """
    matrix = np.asarray(codes)
    refuse("codes", (matrix < -1) | (matrix > 1), "a ternary code must be -1, 0 or +1")
    rows, cols = matrix.shape
    size = ternary_row_bytes(cols) if row_bytes is None else row_bytes
    if size * 4 < cols:
        raise ValueError(f"{cols} ternary weights need {ternary_row_bytes(cols)} bytes a row, not {size}")
    fields = np.ones((rows, size * 4), np.uint8)
    fields[:, :cols] = matrix + 1
    shifted = fields.reshape(rows, size, 4) << _SHIFTS
    packed: U8Array = np.bitwise_or.reduce(shifted, axis=2).astype(np.uint8)
    return packed


def unpack_ternary(packed: U8Array, cols: int, name: str = "weights") -> S8Array:
    """Unpack bytes [rows][row_bytes] to codes [rows][cols] in -1..1.

    Raises PackedCodeError, naming tensor, row and column, for the invalid code 11 and for padding that is not
    01.
    """
    rows, size = packed.shape
    if size * 4 < cols:
        raise ValueError(f"{name}: a row of {size} bytes cannot hold {cols} ternary weights")
    fields = ((packed[:, :, None] >> _SHIFTS) & 3).reshape(rows, size * 4)
    refuse(name, fields == 3, "the bits 11 are not a ternary code")
    padding = fields != 1
    padding[:, :cols] = False
    refuse(name, padding, "the padding after the row is not 01")
    return fields[:, :cols].astype(np.int8) - np.int8(1)
