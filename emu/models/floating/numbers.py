"""Layers in float32 or float64, and the weights of a model file as numbers."""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np

from emu.models.modelfile.reader import ModelFile
from emu.models.modelfile.tensors import DType
from emu.numerics.int4 import unpack_int4
from emu.numerics.ternary import unpack_ternary
from emu.numerics.types import AnyArray


@numba.vectorize(["float32(float32)", "float64(float64)"], cache=False)  # type: ignore[untyped-decorator]
def erfc(x: float) -> float:
    """Complementary error function."""
    return math.erfc(x)


class Numbers:
    """Weights of a model file in one float type."""

    def __init__(self, file: ModelFile, dtype: type[np.floating[Any]]) -> None:
        self.file, self.dtype = file, dtype
        self._known: dict[str, AnyArray] = {}

    def __getitem__(self, name: str) -> AnyArray:
        """A tensor as numbers: codes times scales."""
        if name not in self._known:
            self._known[name] = self._read(name).astype(self.dtype)
        return self._known[name]

    def _read(self, name: str) -> AnyArray:
        spec, stored = self.file.specs[name], self.file.array(name)
        if spec.dtype is DType.I8:
            return stored[:, : spec.cols] * self.file.array(f"{name}.scale").astype(np.float64)[:, None]
        if spec.dtype is DType.TERNARY:
            return unpack_ternary(stored, spec.cols) * np.float64(self.file.array(f"{name}.scale")[0])
        if spec.dtype is DType.INT4:
            scale = self.file.array(f"{name}.scale").view(np.float16).astype(np.float64)
            wide = np.repeat(scale, spec.group, axis=1)[:, : spec.cols]
            return unpack_int4(stored, spec.cols) * wide
        return stored

    def linear(self, x: AnyArray, name: str) -> AnyArray:
        """x times the weights ``name``.w, plus ``name``.b where there is one."""
        y = x @ self[f"{name}.w"].T
        if f"{name}.b" in self.file.specs:
            y = y + self[f"{name}.b"]
        result: AnyArray = y
        return result


def gelu(x: AnyArray) -> AnyArray:
    """x times the normal distribution function."""
    result: AnyArray = x.dtype.type(0.5) * x * erfc(-x / x.dtype.type(math.sqrt(2)))
    return result


def silu(x: AnyArray) -> AnyArray:
    """x / (1 + exp(-x))."""
    with np.errstate(over="ignore"):
        result: AnyArray = x / (1 + np.exp(-x))
    return result


def layernorm(x: AnyArray) -> AnyArray:
    """Mean 0, variance 1 over the last axis."""
    d = x - x.mean(axis=-1, keepdims=True)
    result: AnyArray = d / np.sqrt((d * d).mean(axis=-1, keepdims=True) + x.dtype.type(1e-6))
    return result


def rmsnorm(x: AnyArray, w: AnyArray) -> AnyArray:
    """Root mean square 1 over the last axis, times w."""
    result: AnyArray = x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + x.dtype.type(1e-6)) * w
    return result


def softmax(x: AnyArray) -> AnyArray:
    """Over the last axis."""
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    result: AnyArray = e / e.sum(axis=-1, keepdims=True)
    return result


def attention(qkv: AnyArray, heads: int) -> AnyArray:
    """[T][3 D] to [T][D]."""
    tokens, width = qkv.shape
    q, k, v = qkv.reshape(tokens, 3, heads, width // 3 // heads).transpose(1, 2, 0, 3)
    weights = softmax(q @ k.transpose(0, 2, 1) / q.dtype.type(math.sqrt(q.shape[-1])))
    result: AnyArray = (weights @ v).transpose(1, 0, 2).reshape(tokens, width // 3)
    return result


def conv3x3(x: AnyArray, w: AnyArray, b: AnyArray) -> AnyArray:
    """[H][W][c] to [H][W][out] with weights [out][9 c], zero padding."""
    height, width, _ = x.shape
    padded = np.pad(x, ((1, 1), (1, 1), (0, 0)))
    taps = [padded[ky : ky + height, kx : kx + width] for ky in range(3) for kx in range(3)]
    result: AnyArray = np.concatenate(taps, axis=2) @ w.T + b
    return result
