"""Write a model file: the same tensors give the same bytes on every machine."""

from __future__ import annotations

import os
import tempfile
import zlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from emu.models.modelfile.header import ENTRY_BYTES, HEADER_BYTES, pack_entry, pack_header
from emu.models.modelfile.kinds import Kind, layout_of
from emu.models.modelfile.tensors import ALIGNMENT, DType, TensorSpec
from emu.numerics.int4 import pack_int4
from emu.numerics.packed import padded
from emu.numerics.ternary import pack_ternary
from emu.numerics.types import AnyArray

_DTYPES = {DType.F32: "<f4", DType.U8: "u1", DType.I32: "<i4", DType.F16: "<f2"}


def tensor_bytes(spec: TensorSpec, values: AnyArray) -> bytes:
    """The bytes of a tensor in the file. Codes come unpacked, int8 [rows][cols] (any shape of that size).

    Raises ValueError when the shape does not fit or a code is out of range.
    """
    if values.size != spec.rows * spec.cols:
        raise ValueError(f"{spec.name}: {values.shape} values do not fill {spec.shape}")
    if spec.dtype in _DTYPES:
        return np.ascontiguousarray(values, _DTYPES[spec.dtype]).tobytes()
    codes = values.reshape(spec.rows, spec.cols)
    if spec.dtype is DType.INT4:
        return pack_int4(codes, spec.row_bytes).tobytes()
    if spec.dtype is DType.TERNARY:
        return pack_ternary(codes, spec.row_bytes).tobytes()
    if (codes < -127).any():
        raise ValueError(f"{spec.name}: int8 weights are -127 to 127")
    rows = np.zeros((spec.rows, spec.row_bytes), np.int8)
    rows[:, : spec.cols] = codes
    return rows.tobytes()


def model_bytes(kind: Kind, tensors: Mapping[str, AnyArray]) -> bytes:
    """A whole model file. ``tensors``: unpacked values of every tensor of the kind, by name.

    Raises ValueError when one is missing, unknown or of the wrong size.
    """
    outputs = tensors["head.b"].size if kind is Kind.TERNARY else 0
    layout = layout_of(kind, tensors["tok.bytes"].size if kind is Kind.TINYLM else outputs)
    names = {spec.name for spec in layout}
    if names != set(tensors):
        wrong = sorted(names.symmetric_difference(tensors))
        raise ValueError(f"a {kind.label} model has no tensor, or lacks one, called {wrong[0]}")
    blobs = [tensor_bytes(spec, tensors[spec.name]) for spec in layout]
    return assemble(kind, list(zip(layout, blobs, strict=True)), (outputs,))


def assemble(kind: int, parts: list[tuple[TensorSpec, bytes]], parameters: tuple[int, ...] = ()) -> bytes:
    """Header, index and tensors, each at the next multiple of 16."""
    position = HEADER_BYTES + ENTRY_BYTES * len(parts)
    entries, body = [], []
    for spec, blob in parts:
        gap = padded(position, ALIGNMENT) - position
        body += [bytes(gap), blob]
        entries.append(pack_entry(spec, position + gap, zlib.crc32(blob)))
        position += gap + len(blob)
    return pack_header(kind, position, entries, parameters) + b"".join(body)


def write_file(path: Path, data: bytes) -> None:
    """Write ``data`` so that a reader sees either the old file or the whole new one.

    A link stays one; a device or a pipe is written into.
    """
    if path.exists() and not path.is_file():
        path.write_bytes(data)
        return
    path = path.resolve()
    handle, name = tempfile.mkstemp(dir=path.parent or Path(), prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
