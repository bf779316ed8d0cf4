"""Weights from a seed, the same on every machine (docs/models.md, "random weights").

For each tensor the generator starts at fmix32(seed ^ crc32(name)) and fills it with normals z in C order.
Everything goes through the mirrors of the contract; neither numpy's generator nor a maths library takes part.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Final

import numpy as np

from emu.kernels.quantize import quantize_row_s8
from emu.kernels.random import normal_array
from emu.models.modelfile.contents import TABLES
from emu.models.modelfile.kinds import Kind, layout_of
from emu.models.modelfile.tensors import DType, TensorSpec
from emu.models.modelfile.writer import model_bytes
from emu.numerics import random
from emu.numerics.constants import HALF, ONE, f32
from emu.numerics.int4 import int4_weights
from emu.numerics.tables import table
from emu.numerics.types import AnyArray, F32Array

_SMALL: Final = f32(0x3CA3D70A)  # 0.02
_S_IN: Final = f32(0x3D8F5C29)  # 0.07
_LAST_CONV: Final = f32(0x3E4CCCCD)  # 0.2
_LAST_CONV_NAME = "dec.conv9.w"

Tensors = dict[str, AnyArray]


def normals(seed: int, name: str, n: int) -> F32Array:
    """The first ``n`` normals of the tensor called ``name``, float32 [n]."""
    state = np.array([random.fmix32(np.uint32((seed ^ zlib.crc32(name.encode())) & 0xFFFFFFFF))], np.uint32)
    z = np.empty(n, np.float32)
    normal_array(state, z, np.int32(n))
    return z


def inverse_root(cols: int) -> np.float32:
    """1.0f / sqrt((float)K), both rounded."""
    return np.float32(ONE / np.sqrt(np.float32(cols)))


def quantized_rows(z: F32Array) -> tuple[AnyArray, F32Array]:
    """Rows z [rows][cols] by quantize_row_s8: (codes int8, scale float32 [rows])."""
    rows, cols = z.shape
    codes, scale = np.empty((rows, cols), np.int8), np.empty(rows, np.float32)
    n = np.int32(cols)
    bad = np.zeros(1, np.int32)
    quantize_row_s8(z.reshape(-1), n, codes.reshape(-1), n, scale, np.int32(rows), n, bad)
    return codes, scale


def _int8(spec: TensorSpec, z: F32Array, out: Tensors) -> None:
    codes, scale = quantized_rows(z)
    scale = scale * inverse_root(spec.cols)
    out[spec.name] = codes
    out[f"{spec.name}.scale"] = scale * _LAST_CONV if spec.name == _LAST_CONV_NAME else scale


def _int4(spec: TensorSpec, z: F32Array, out: Tensors) -> None:
    weights = z * inverse_root(spec.cols) if spec.fill == "weight" else z
    out[spec.name], out[f"{spec.name}.scale"] = int4_weights(weights, spec.group, spec.name)


def _ternary(spec: TensorSpec, z: F32Array, out: Tensors) -> None:
    out[spec.name] = (z > HALF).astype(np.int8) - (z < -HALF).astype(np.int8)
    out[f"{spec.name}.scale"] = np.array([inverse_root(spec.cols)], np.float32)


_MATRICES: Final[dict[DType, Callable[[TensorSpec, F32Array, Tensors], None]]] = {
    DType.I8: _int8,
    DType.INT4: _int4,
    DType.TERNARY: _ternary,
}
_FLOATS: Final[dict[str, Callable[[F32Array, int], F32Array]]] = {
    "normal": lambda z, cols: z,
    "small": lambda z, cols: _SMALL * z,
    "norm": lambda z, cols: ONE + _SMALL * z,
    "linear": lambda z, cols: z * inverse_root(cols),
    "s_in": lambda z, cols: np.full_like(z, _S_IN),
}


def random_tensors(kind: Kind, seed: int, variable: int | None = None) -> Tensors:
    """Values of every tensor of a kind, codes unpacked; ``variable``: see layout_of."""
    out: Tensors = _strings(kind)
    for spec in layout_of(kind, variable):
        if spec.fill == "table":
            out[spec.name] = table(TABLES[spec.name])
        elif spec.fill not in ("scale", "bytes"):
            z = normals(seed, spec.name, spec.rows * spec.cols).reshape(spec.rows, spec.cols)
            if spec.dtype in _MATRICES:
                _MATRICES[spec.dtype](spec, z, out)
            else:
                out[spec.name] = _FLOATS[spec.fill](z, spec.cols)
    return out


def _strings(kind: Kind) -> Tensors:
    if kind is Kind.T2I:
        from emu.models.t2i.words import word_table

        return {"tok.words": word_table()}
    if kind is Kind.TINYLM:
        from emu.models.tinylm.vocabulary import pack_strings, token_strings

        start, text = pack_strings(token_strings())
        return {"tok.start": start, "tok.bytes": text}
    return {}


def random_model(kind: Kind, seed: int, variable: int | None = None) -> bytes:
    """A model file with random weights: the same bytes for the same seed on every machine."""
    return model_bytes(kind, random_tensors(kind, seed, variable))
