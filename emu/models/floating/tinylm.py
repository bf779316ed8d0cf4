"""The language model with float activations and a float cache."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from emu.models.floating.numbers import Numbers, gelu, rmsnorm, silu, softmax
from emu.models.modelfile.reader import ModelFile
from emu.models.stages import Tap
from emu.models.tinylm import layout as t
from emu.numerics.types import AnyArray


class FloatTinylm:
    """A model in one float type, one sequence at a time."""

    def __init__(self, file: ModelFile, dtype: type[np.floating[Any]] = np.float64) -> None:
        self.n = Numbers(file, dtype)
        self.start()

    def start(self) -> None:
        """A new sequence."""
        self.position = 0
        self._keys: list[list[AnyArray]] = [[] for _ in range(t.LAYERS)]
        self._values: list[list[AnyArray]] = [[] for _ in range(t.LAYERS)]

    def step(self, token: int, tap: Tap) -> AnyArray:
        """Logits [4096] after one more token, every stage told to ``tap``."""
        prefix = f"p{self.position}"
        h = self.n["emb.w"][token]
        tap(f"{prefix}.emb", h)
        proj = self.n.linear(h, "proj") / h.dtype.type(math.sqrt(t.D))
        ple = rmsnorm(proj.reshape(t.LAYERS, t.PLE), self.n["ple.norm"])
        table = self.n["ple.w"][token].reshape(t.LAYERS, t.PLE)
        ple = (ple + table * h.dtype.type(8)) / h.dtype.type(math.sqrt(2))
        tap(f"{prefix}.ple", ple)
        for i in range(t.LAYERS):
            h = self._layer(i, f"{prefix}.l{i}", h, ple[i], tap)
        logits = self.n.linear(rmsnorm(h, self.n["norm"]), "head")
        tap(f"{prefix}.logits", logits)
        self.position += 1
        return logits

    def _layer(self, i: int, stage: str, h: AnyArray, ple: AnyArray, tap: Tap) -> AnyArray:
        name = f"l{i}"
        x = rmsnorm(h, self.n[f"{name}.norm1"])
        tap(f"{stage}.norm", x)
        q, k, v = self.n.linear(x, f"{name}.qkv").reshape(3, t.HEADS, t.HEAD)
        q, k = self._rope(q), self._rope(k)
        tap(f"{stage}.qkv", np.concatenate((q, k, v)).reshape(-1))
        out = self._attend(i, q, k, v)
        tap(f"{stage}.attn", out)
        h = h + self.n.linear(out, f"{name}.o")
        x = rmsnorm(h, self.n[f"{name}.norm2"])
        gate, up = self.n.linear(x, f"{name}.gate"), self.n.linear(x, f"{name}.up")
        h = h + self.n.linear(silu(gate) * up, f"{name}.down")
        tap(f"{stage}.ffn", h)
        gate = gelu(self.n.linear(h, f"{name}.ple_gate")) * ple
        h = h + rmsnorm(self.n.linear(gate, f"{name}.ple_proj"), self.n[f"{name}.norm3"])
        tap(f"{stage}.ple", h)
        return h

    def _rope(self, x: AnyArray) -> AnyArray:
        angle = 2 * np.pi * self.position * self.n["rope.freq"].astype(np.float64)
        cos, sin = np.cos(angle).astype(x.dtype), np.sin(angle).astype(x.dtype)
        a, b = x[:, : t.HEAD // 2], x[:, t.HEAD // 2 :]
        return np.concatenate((a * cos - b * sin, b * cos + a * sin), axis=1)

    def _attend(self, i: int, q: AnyArray, k: AnyArray, v: AnyArray) -> AnyArray:
        self._keys[i].append(k)
        self._values[i].append(v)
        keys, values = np.stack(self._keys[i], axis=1), np.stack(self._values[i], axis=1)
        weights = softmax((keys @ q[:, :, None])[:, :, 0] / q.dtype.type(math.sqrt(t.HEAD)))
        result: AnyArray = (weights[:, None, :] @ values)[:, 0].reshape(-1)
        return result
