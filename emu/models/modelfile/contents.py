"""What a loader refuses inside a tensor whose bytes are as the writer left them."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np

from emu.models.errors import ModelFileError
from emu.models.modelfile.reasons import Reason
from emu.models.modelfile.tensors import DType, TensorSpec
from emu.numerics.tables import TABLE_CRC
from emu.numerics.types import AnyArray, U8Array

Bytes = np.ndarray[Any, np.dtype[np.uint8]]

TABLES = {
    "gelu.value": "gelu_value",
    "gelu.slope": "gelu_slope",
    "time.freq": "time_frequency",
    "rope.freq": "rope_frequency",
}
"""Tensors that are the same in every model, with their names in emu.numerics.tables."""


def check_gap(before: Bytes, name: str, i: int) -> None:
    """Refuse bytes between a tensor and the one before it that are not 0."""
    if before.any():
        what = f"byte {int(np.argmax(before != 0))} of the padding before it is not 0"
        raise ModelFileError(Reason.GAP_BYTES, what, name, i)


def check_content(spec: TensorSpec, content: Bytes, crc: int, i: int) -> None:
    """Refuse damage, and values that the arithmetic does not allow; ``content`` is the tensor's bytes."""
    found = zlib.crc32(content.data)
    if found != crc:
        what = f"damaged: CRC-32 0x{found:08X}, the index says 0x{crc:08X}"
        raise ModelFileError(Reason.CRC, what, spec.name, i)
    if spec.name in TABLES:
        _check_table(spec, content, i)
    if spec.dtype in (DType.F32, DType.F16):
        _check_floats(spec, content.view("<f4" if spec.dtype is DType.F32 else "<f2"), i)
    if spec.dtype is DType.I8:
        _check_int8(spec, content.view(np.int8).reshape(spec.rows, spec.row_bytes), i)
    if spec.dtype in (DType.INT4, DType.TERNARY):
        _check_packed(spec, content.reshape(spec.rows, spec.row_bytes), i)


def _check_table(spec: TensorSpec, content: Bytes, i: int) -> None:
    expected, found = TABLE_CRC[TABLES[spec.name]], zlib.crc32(content.data)
    if found != expected:
        what = f"this table must have the CRC-32 0x{expected:08X}; it has 0x{found:08X}"
        raise ModelFileError(Reason.TABLE_CRC, what, spec.name, i)


def _check_floats(spec: TensorSpec, values: AnyArray, i: int) -> None:
    bad = ~np.isfinite(values)
    if bad.any():
        raise ModelFileError(Reason.NOT_FINITE, f"{_place(spec, bad)}: not finite", spec.name, i)
    if spec.is_scale:
        bad = values < 0
        if bad.any():
            raise ModelFileError(Reason.NEGATIVE_SCALE, f"{_place(spec, bad)}: negative", spec.name, i)


def _place(spec: TensorSpec, bad: AnyArray) -> str:
    """Row and column of the first true element."""
    row, column = divmod(int(np.argmax(bad.reshape(-1))), bad.size // spec.rows)
    return f"row {row}, column {column}"


def _refuse(spec: TensorSpec, i: int, reason: Reason, bad: AnyArray, what: str) -> None:
    if bad.any():
        raise ModelFileError(reason, f"{_place(spec, bad)}: {what}", spec.name, i)


def _check_int8(spec: TensorSpec, rows: AnyArray, i: int) -> None:
    _refuse(spec, i, Reason.CODE_S8, rows[:, : spec.cols] == -128, "the weight -128 is not allowed")
    _refuse(spec, i, Reason.PADDING, rows[:, spec.cols :] != 0, "the padding of the row is not 0")


def _check_packed(spec: TensorSpec, rows: U8Array, i: int) -> None:
    """int4 and ternary: a quick look at whole bytes, and a slow one that finds the place of a fault."""
    ternary = spec.dtype is DType.TERNARY
    if ternary:
        wrong = (rows & (rows >> 1) & 0x55).any()
    else:
        wrong = ((rows & 0x0F) == 0x08).any() or ((rows & 0xF0) == 0x80).any()
    bits, neutral, forbidden = (2, 1, 3) if ternary else (4, 0, 8)
    per_byte = 8 // bits
    if wrong:
        fields = _fields(rows, bits)
        what = f"the code {forbidden:0{bits}b} is not allowed"
        reason = Reason.CODE_TERNARY if ternary else Reason.CODE_INT4
        _refuse(spec, i, reason, fields[:, : spec.cols] == forbidden, what)
    first = spec.cols // per_byte
    tail = _fields(rows[:, first:], bits)[:, spec.cols - first * per_byte :]
    _refuse(spec, i, Reason.PADDING, tail != neutral, "the padding of the row is not neutral")


def check_words(spec: TensorSpec, content: Bytes, i: int) -> None:
    """Refuse words of t2i that are empty or have bytes behind their end."""
    words = content.reshape(spec.shape)
    ended = np.maximum.accumulate(words == 0, axis=1)
    bad = ended[:, 0] | (ended & (words != 0)).any(axis=1)
    if bad.any():
        what = f"word {int(np.argmax(bad))} is empty, or has bytes behind its end"
        raise ModelFileError(Reason.WORDS, what, spec.name, i)


def _fields(rows: U8Array, bits: int) -> U8Array:
    """Codes of bytes [rows][n] in order, the low bits first."""
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    fields: U8Array = (rows[:, :, None] >> shifts) & np.uint8((1 << bits) - 1)
    return fields.reshape(len(rows), -1)
