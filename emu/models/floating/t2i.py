"""Text to image in ordinary floating point; start noise, words and stage names are those of the model."""

from __future__ import annotations

from typing import Any

import numpy as np

from emu.kernels.random import normal_array
from emu.models.floating.numbers import Numbers, attention, conv3x3, gelu, layernorm, silu
from emu.models.modelfile.reader import ModelFile
from emu.models.stages import Tap
from emu.models.t2i import sizes as s
from emu.models.t2i.mirror import Request
from emu.numerics import random
from emu.numerics.types import AnyArray


class FloatT2i:
    """A model in one float type."""

    def __init__(self, file: ModelFile, dtype: type[np.floating[Any]] = np.float64) -> None:
        self.n, self.dtype = Numbers(file, dtype), dtype

    def run(self, request: Request, tap: Tap) -> AnyArray:
        """The picture as floats 0..255 [64][64][3], every stage told to ``tap``."""
        ctext = self._text(request.tokens, tap)
        z = self._noise(request.seed)
        tap("z.init", z)
        for step in range(request.steps):
            z = self._step(request, step, ctext, z, tap)
        return self._decode(z, tap)

    def _noise(self, seed: int) -> AnyArray:
        z = np.empty((s.LATENT, s.LATENT, s.CHANNELS), np.float32)
        state = np.array([random.fmix32(np.uint32(seed))], np.uint32)
        normal_array(state, z.reshape(-1), np.int32(z.size))
        return z.astype(self.dtype)

    def _norm(self, x: AnyArray, name: str) -> AnyArray:
        return layernorm(x) * self.n[f"{name}.w"] + self.n[f"{name}.b"]

    def _mlp(self, x: AnyArray, name: str) -> AnyArray:
        return self.n.linear(gelu(self.n.linear(x, f"{name}.fc1")), f"{name}.fc2")

    def _text(self, tokens: AnyArray, tap: Tap) -> AnyArray:
        tap("tok", tokens)
        x = self.n["txt.emb"][tokens] + self.n["txt.pos"][: len(tokens)]
        tap("txt.emb", x)
        for i in range(s.TEXT_BLOCKS):
            name = f"txt.b{i}"
            if len(tokens):
                qkv = self.n.linear(self._norm(x, f"{name}.ln1"), f"{name}.qkv")
                x = x + self.n.linear(attention(qkv, s.TEXT_HEADS), f"{name}.proj")
            tap(f"{name}.attn", x)
            if len(tokens):
                x = x + self._mlp(self._norm(x, f"{name}.ln2"), name)
            tap(f"{name}.mlp", x)
        null = self.n["txt.null"]
        m = np.stack((x.mean(axis=0) if len(tokens) else null, null))
        hidden = silu(self.n.linear(self._norm(m, "txt.ln"), "txt.fc1"))
        ctext = self.n.linear(hidden, "txt.fc2")
        tap("ctext", ctext)
        return ctext

    def _time(self, t: float) -> AnyArray:
        angle = 2 * np.pi * (t * 1000.0 * self.n["time.freq"].astype(np.float64))
        both = np.concatenate((np.cos(angle), np.sin(angle))).astype(self.dtype)
        return self.n.linear(silu(self.n.linear(both, "time.fc1")), "time.fc2")

    def _step(self, request: Request, step: int, ctext: AnyArray, z: AnyArray, tap: Tap) -> AnyArray:
        temb = self._time(1 - step / request.steps)
        tap(f"s{step}.temb", temb)
        vc, vu = (self._branch(f"s{step}.{b}", z, temb + ctext[i], tap) for i, b in enumerate("cu"))
        z = z - (vu + self.dtype(request.cfg) * (vc - vu)) / self.dtype(request.steps)
        tap(f"s{step}.z", z)
        return z

    def _branch(self, prefix: str, z: AnyArray, cond: AnyArray, tap: Tap) -> AnyArray:
        tap(f"{prefix}.cond", cond)
        mod = self.n.linear(silu(cond), "mod")
        tap(f"{prefix}.mod", mod)
        tokens = z.reshape(8, 2, 8, 2, s.CHANNELS).transpose(0, 2, 1, 3, 4).reshape(s.TOKENS, s.PATCH)
        x = self.n.linear(tokens, "patch") + self.n["pos"]
        tap(f"{prefix}.patch", x)
        for i in range(s.BLOCKS):
            x = self._block(f"{prefix}.b{i}", f"b{i}", x, mod.reshape(6, s.D) + self.n[f"b{i}.table"], tap)
        last = self.n.linear(silu(cond), "final.mod")
        tap(f"{prefix}.final.mod", last)
        y = self.n.linear(layernorm(x) * (1 + last[s.D :]) + last[: s.D], "final")
        v = y.reshape(8, 8, 2, 2, s.CHANNELS).transpose(0, 2, 1, 3, 4).reshape(16, 16, s.CHANNELS)
        tap(f"{prefix}.v", v)
        return v

    def _block(self, stage: str, name: str, x: AnyArray, m: AnyArray, tap: Tap) -> AnyArray:
        y = layernorm(x) * (1 + m[1]) + m[0]
        tap(f"{stage}.ln1", y)
        qkv = self.n.linear(y, f"{name}.qkv")
        tap(f"{stage}.qkv", qkv)
        out = attention(qkv, s.HEADS)
        tap(f"{stage}.attn", out)
        x = x + m[2] * self.n.linear(out, f"{name}.proj")
        tap(f"{stage}.proj", x)
        y = layernorm(x) * (1 + m[4]) + m[3]
        tap(f"{stage}.ln2", y)
        x = x + m[5] * self._mlp(y, name)
        tap(f"{stage}.mlp", x)
        return x

    def _decode(self, z: AnyArray, tap: Tap) -> AnyArray:
        x, before = z, z
        tap("dec.in", x)
        for k, conv in enumerate(s.CONVS):
            wide = x.repeat(2, axis=0).repeat(2, axis=1) if conv.up else x
            wide = np.maximum(wide, 0) if conv.relu else wide
            y = conv3x3(wide, self.n[f"dec.conv{k}.w"], self.n[f"dec.conv{k}.b"])
            y = y + before if conv.residual else y
            tap(f"dec.conv{k}", y)
            before, x = x, y
        rgb = np.clip(x * 127.5 + 127.5, 0, 255)
        tap("rgb", rgb)
        return rgb
