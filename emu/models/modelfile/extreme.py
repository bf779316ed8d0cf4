"""Weights that hurt: outlier channels, rows of zeros, saturated rows, and inputs that become zero.

They start from random weights and stay valid model files. Everything follows from the seed.
"""

from __future__ import annotations

import zlib
from typing import Final

import numpy as np

from emu.models.modelfile.kinds import Kind
from emu.models.modelfile.random_weights import Tensors, random_tensors
from emu.models.modelfile.writer import model_bytes
from emu.numerics.types import AnyArray

_OUTLIER: Final = np.float32(100.0)
_ONE_IN = 16
"""Of so many rows, one has outlier weights, one is zero, one is saturated."""


def _rng(seed: int, name: str) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(key=[seed, zlib.crc32(name.encode())]))


def _rows(seed: int, name: str, rows: int) -> tuple[AnyArray, AnyArray, AnyArray]:
    """Numbers of outlier rows, zero rows, saturated rows; at least one of each where there are three."""
    count = max(rows // _ONE_IN, 1) if rows >= 3 else 0
    order = _rng(seed, name).permutation(rows)
    return order[:count], order[count : 2 * count], order[2 * count : 3 * count]


def _hurt_int8(out: Tensors, name: str, seed: int) -> None:
    codes, scale = out[name].copy(), out[f"{name}.scale"].copy()
    outlier, zero, saturated = _rows(seed, name, len(codes))
    scale[outlier] *= _OUTLIER
    codes[zero], scale[zero] = 0, 0
    codes[saturated] = np.where(codes[saturated] < 0, -127, 127)
    out[name], out[f"{name}.scale"] = codes, scale


def _hurt_int4(out: Tensors, name: str, seed: int) -> None:
    codes, scale = out[name].copy(), out[f"{name}.scale"].copy()
    outlier, zero, saturated = _rows(seed, name, len(codes))
    scale[outlier] = (scale[outlier].astype(np.float32) * np.float32(16)).astype(np.float16)
    codes[zero], scale[zero] = 0, 0
    codes[saturated] = np.where(codes[saturated] < 0, -7, 7)
    tiny = _rng(seed, f"{name}.tiny").integers(0, len(scale))
    scale[tiny] = np.float16(6e-8)
    out[name], out[f"{name}.scale"] = codes, scale


def _hurt_ternary(out: Tensors, name: str, seed: int) -> None:
    codes = out[name].copy()
    outlier, zero, saturated = _rows(seed, name, len(codes))
    codes[zero] = 0
    codes[saturated] = 1
    codes[outlier] = -1
    out[name] = codes


_HURT: Final = {Kind.T2I: _hurt_int8, Kind.TERNARY: _hurt_ternary, Kind.TINYLM: _hurt_int4}


def extreme_tensors(kind: Kind, seed: int) -> Tensors:
    """Tensors of a model with extreme weights; see the module.

    In every layer one matrix in two keeps its random weights, so that outliers do not drown each other.
    """
    out = random_tensors(kind, seed)
    matrices = [name for name in out if f"{name}.scale" in out]
    for i, name in enumerate(matrices):
        if (i + seed) % 2 == 0:
            _HURT[kind](out, name, seed)
    if kind is Kind.T2I:
        _zero_activations(out)
    if kind is Kind.TERNARY:
        out["emb"] = out["emb"].copy()
        out["emb"][ord("0")] = 0
        out["pos"] = np.array(out["pos"])
        out["pos"][0] = 0
    return out


def _zero_activations(out: Tensors) -> None:
    """A row of zeros enters a layer: the first word at the first place embeds to nothing."""
    out["txt.emb"] = out["txt.emb"].copy()
    out["txt.pos"] = out["txt.pos"].copy()
    out["txt.emb"][0] = 0
    out["txt.pos"][0] = 0


def extreme_model(kind: Kind, seed: int) -> bytes:
    """A model file with extreme weights."""
    return model_bytes(kind, extreme_tensors(kind, seed))
