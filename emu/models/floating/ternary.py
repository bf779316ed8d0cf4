"""The ternary transformer with float activations."""

from __future__ import annotations

from typing import Any

import numpy as np

from emu.models.floating.numbers import Numbers, attention, rmsnorm
from emu.models.modelfile.reader import ModelFile
from emu.models.stages import Tap
from emu.models.ternary import layout as t
from emu.models.ternary.tokenizer import byte_tokens
from emu.numerics.types import AnyArray


class FloatTernary:
    """A model in one float type."""

    def __init__(self, file: ModelFile, dtype: type[np.floating[Any]] = np.float64) -> None:
        self.n = Numbers(file, dtype)

    def run(self, text: bytes, tap: Tap) -> AnyArray:
        """Logits [outputs], every stage told to ``tap``."""
        x = self.n["emb"][byte_tokens(text)] + self.n["pos"]
        tap("emb", x)
        for i in range(t.LAYERS):
            x = self._layer(f"l{i}", x, tap)
        pool = x.mean(axis=0)
        tap("pool", pool)
        logits: AnyArray = self.n["head.w"] @ pool + self.n["head.b"]
        tap("logits", logits)
        return logits

    def _layer(self, name: str, x: AnyArray, tap: Tap) -> AnyArray:
        y = rmsnorm(x, self.n[f"{name}.norm1"])
        tap(f"{name}.norm1", y)
        qkv = self.n.linear(y, f"{name}.qkv")
        tap(f"{name}.qkv", qkv)
        out = attention(qkv, t.HEADS)
        tap(f"{name}.attn", out)
        x = x + self.n.linear(out, f"{name}.proj")
        tap(f"{name}.proj", x)
        y = rmsnorm(x, self.n[f"{name}.norm2"])
        tap(f"{name}.norm2", y)
        x = x + self.n.linear(np.maximum(self.n.linear(y, f"{name}.fc1"), 0), f"{name}.fc2")
        tap(f"{name}.mlp", x)
        return x
