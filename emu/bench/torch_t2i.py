"""The text-to-image network in PyTorch, float32, eager: what the mirror's picture is measured against.

Weights are those of the model file as numbers; both guidance branches are one batch, as in the mirror.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from emu.models.floating.numbers import Numbers
from emu.models.floating.t2i import FloatT2i
from emu.models.modelfile.reader import ModelFile
from emu.models.t2i import sizes as s
from emu.models.t2i.mirror import Request
from emu.numerics.types import AnyArray


class TorchT2i:
    """A model on ``threads`` threads. Raises LookupError when torch is not there."""

    def __init__(self, file: ModelFile, threads: int) -> None:
        try:
            import torch  # type: ignore[import-not-found]
        except ImportError as error:
            raise LookupError("torch is not installed (gigabytes; install it by hand to compare)") from error
        torch.set_num_threads(threads)
        self.torch, self.f = torch, torch.nn.functional
        numbers = Numbers(file, np.float32)
        self._noise = FloatT2i(file, np.float32)._noise
        self.w = {
            name: torch.from_numpy(np.array(numbers[name])) for name in file.specs if name[:4] != "tok."
        }
        for k, conv in enumerate(s.CONVS):
            weights = self.w[f"dec.conv{k}.w"].reshape(conv.outputs, 3, 3, conv.inputs)
            self.w[f"dec.conv{k}.w"] = weights.permute(0, 3, 1, 2).contiguous()

    def run(self, request: Request) -> AnyArray:
        """The picture as floats 0..255 [64][64][3]."""
        with self.torch.inference_mode():
            ctext = self._text(request)
            z = self.torch.from_numpy(self._noise(request.seed))
            for step in range(request.steps):
                v = self._denoise(z, self._time(1 - step / request.steps) + ctext)
                z = z - (v[1] + float(request.cfg) * (v[0] - v[1])) / request.steps
            picture: AnyArray = self._decode(z).numpy()
            return picture

    def _linear(self, x: Any, name: str) -> Any:
        return self.f.linear(x, self.w[f"{name}.w"], self.w[f"{name}.b"])

    def _attention(self, qkv: Any, heads: int) -> Any:
        q, k, v = (t.unflatten(-1, (heads, s.HEAD)).transpose(-2, -3) for t in qkv.chunk(3, -1))
        return self.f.scaled_dot_product_attention(q, k, v).transpose(-2, -3).flatten(-2)

    def _norm(self, x: Any, name: str = "") -> Any:
        w, b = (self.w[f"{name}.w"], self.w[f"{name}.b"]) if name else (None, None)
        return self.f.layer_norm(x, x.shape[-1:], w, b, 1e-6)

    def _mlp(self, x: Any, name: str) -> Any:
        return self._linear(self.f.gelu(self._linear(x, f"{name}.fc1")), f"{name}.fc2")

    def _text(self, request: Request) -> Any:
        tokens = self.torch.from_numpy(np.asarray(request.tokens, np.int64))
        x = self.w["txt.emb"][tokens] + self.w["txt.pos"][: len(tokens)]
        for name in ("txt.b0", "txt.b1"):
            qkv = self._linear(self._norm(x, f"{name}.ln1"), f"{name}.qkv")
            x = x + self._linear(self._attention(qkv, s.TEXT_HEADS), f"{name}.proj")
            x = x + self._mlp(self._norm(x, f"{name}.ln2"), name)
        m = self.torch.stack((x.mean(0) if len(tokens) else self.w["txt.null"], self.w["txt.null"]))
        return self._linear(self.f.silu(self._linear(self._norm(m, "txt.ln"), "txt.fc1")), "txt.fc2")

    def _time(self, t: float) -> Any:
        angle = 2 * np.pi * (t * 1000.0 * self.w["time.freq"].double())
        both = self.torch.cat((angle.cos(), angle.sin())).float()
        return self._linear(self.f.silu(self._linear(both, "time.fc1")), "time.fc2")

    def _denoise(self, z: Any, cond: Any) -> Any:
        """v [2][16][16][4] of both branches; cond [2][192]."""
        active = self.f.silu(cond)
        mod = self._linear(active, "mod").reshape(2, 6, 1, s.D)
        tokens = z.reshape(8, 2, 8, 2, s.CHANNELS).permute(0, 2, 1, 3, 4).reshape(s.TOKENS, s.PATCH)
        x = (self._linear(tokens, "patch") + self.w["pos"]).expand(2, -1, -1)
        for i in range(s.BLOCKS):
            m = mod + self.w[f"b{i}.table"].reshape(1, 6, 1, s.D)
            y = self._norm(x) * (1 + m[:, 1]) + m[:, 0]
            out = self._attention(self._linear(y, f"b{i}.qkv"), s.HEADS)
            x = x + m[:, 2] * self._linear(out, f"b{i}.proj")
            y = self._norm(x) * (1 + m[:, 4]) + m[:, 3]
            x = x + m[:, 5] * self._mlp(y, f"b{i}")
        last = self._linear(active, "final.mod").reshape(2, 2, 1, s.D)
        y = self._linear(self._norm(x) * (1 + last[:, 1]) + last[:, 0], "final")
        return y.reshape(2, 8, 8, 2, 2, s.CHANNELS).permute(0, 1, 3, 2, 4, 5).reshape(2, 16, 16, s.CHANNELS)

    def _decode(self, z: Any) -> Any:
        x = z.permute(2, 0, 1)[None]
        before = x
        for k, conv in enumerate(s.CONVS):
            wide = self.f.interpolate(x, scale_factor=2, mode="nearest") if conv.up else x
            wide = self.f.relu(wide) if conv.relu else wide
            y = self.f.conv2d(wide, self.w[f"dec.conv{k}.w"], self.w[f"dec.conv{k}.b"], padding=1)
            before, x = x, (y + before if conv.residual else y)
        return (x[0].permute(1, 2, 0) * 127.5 + 127.5).clamp(0, 255)
