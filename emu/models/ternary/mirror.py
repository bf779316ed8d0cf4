"""The ternary transformer on the host, stage by stage and bit for bit (docs/models.md section 2)."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from emu.models.blocks import norms
from emu.models.blocks.attention import AttentionRoom, attention, attention_room
from emu.models.blocks.linear import GOOD, Quantized, quantized
from emu.models.blocks.ternary import BitLinear, bitlinear, bitlinear_of
from emu.models.errors import NotFiniteError
from emu.models.modelfile.reader import ModelFile
from emu.models.stages import Tap
from emu.models.ternary import layout as t
from emu.models.ternary.tokenizer import byte_tokens
from emu.numerics.activations import relu
from emu.numerics.constants import ONE, ZERO
from emu.numerics.jit import jit
from emu.numerics.ternary import unpack_ternary
from emu.numerics.types import F32Array, S32Array

_LAYER_STAGES: Final = ("norm1", "qkv", "attn", "proj", "norm2", "mlp")


class Layer(NamedTuple):
    """One layer."""

    norm1: F32Array
    qkv: BitLinear
    proj: BitLinear
    norm2: F32Array
    fc1: BitLinear
    fc2: BitLinear


class Weights(NamedTuple):
    """A whole model; head_w [outputs][128], head_b [outputs]."""

    emb: F32Array
    pos: F32Array
    layers: tuple[Layer, ...]
    head_w: F32Array
    head_b: F32Array


class Room(NamedTuple):
    """Working memory."""

    x: F32Array
    y: F32Array
    qkv: F32Array
    hidden: F32Array
    sums: F32Array
    xq: Quantized
    hq: Quantized
    acc: S32Array
    attention: AttentionRoom
    pool: F32Array


def _weights(file: ModelFile) -> Weights:
    def floats(name: str) -> F32Array:
        return np.array(file.array(name), np.float32)

    def layer(name: str) -> BitLinear:
        codes = unpack_ternary(file.array(f"{name}.w"), file.specs[f"{name}.w"].cols, name)
        return bitlinear_of(codes, file.array(f"{name}.w.scale")[0])

    layers = tuple(
        Layer(
            floats(f"l{i}.norm1"),
            layer(f"l{i}.qkv"),
            layer(f"l{i}.proj"),
            floats(f"l{i}.norm2"),
            layer(f"l{i}.fc1"),
            layer(f"l{i}.fc2"),
        )
        for i in range(t.LAYERS)
    )
    return Weights(floats("emb"), floats("pos"), layers, floats("head.w"), floats("head.b"))


def _room() -> Room:
    f, n, d = np.float32, t.TOKENS, t.D
    return Room(
        np.zeros((n, d), f),
        np.zeros((n, d), f),
        np.zeros((n, 3 * d), f),
        np.zeros((n, t.MLP), f),
        np.zeros(2 * n, f),
        quantized(n, d),
        quantized(n, t.MLP),
        np.zeros(n * 3 * d, np.int32),
        attention_room(n),
        np.zeros(d, f),
    )


def stage_shapes(outputs: int) -> list[tuple[str, tuple[int, ...]]]:
    """(name, shape) of the 27 stages, in order; all float32."""
    n, d = t.TOKENS, t.D
    layer = {"qkv": (n, 3 * d)}
    return [
        ("emb", (n, d)),
        *((f"l{i}.{name}", layer.get(name, (n, d))) for i in range(t.LAYERS) for name in _LAYER_STAGES),
        ("pool", (d,)),
        ("logits", (outputs,)),
    ]


@jit
def _keep(kept: F32Array, places: S32Array, stage: int, values: F32Array) -> None:
    if len(kept) > 0:
        kept[places[stage] : places[stage + 1]] = values.reshape(-1)


@jit
def _add(x: F32Array, y: F32Array) -> None:
    for r in range(x.shape[0]):
        for c in range(x.shape[1]):
            x[r, c] += y[r, c]


@jit
def _layer(w: Layer, room: Room, first: int, places: S32Array, kept: F32Array) -> tuple[int, int]:
    """One layer: (-1, 0), or (row, number of the stage that is not finite)."""
    rows, d = room.x.shape
    norms.rmsnorm(room.x, rows, d, w.norm1, room.y, room.sums)
    _keep(kept, places, first, room.y)
    bad = bitlinear(room.y, w.qkv, room.xq, room.acc, room.qkv)
    if bad != GOOD:
        return bad, first
    _keep(kept, places, first + 1, room.qkv)
    bad = attention(room.qkv, rows, d, room.attention, room.y)
    if bad != GOOD:
        return bad, first + 2
    _keep(kept, places, first + 2, room.y)
    out = room.qkv.reshape(-1)[: rows * d].reshape(rows, d)
    bad = bitlinear(room.y, w.proj, room.xq, room.acc, out)
    if bad != GOOD:
        return bad, first + 2
    _add(room.x, out)
    _keep(kept, places, first + 3, room.x)
    norms.rmsnorm(room.x, rows, d, w.norm2, room.y, room.sums)
    _keep(kept, places, first + 4, room.y)
    bad = bitlinear(room.y, w.fc1, room.xq, room.acc, room.hidden)
    if bad != GOOD:
        return bad, first + 4
    for r in range(rows):
        for c in range(room.hidden.shape[1]):
            room.hidden[r, c] = relu(room.hidden[r, c])
    bad = bitlinear(room.hidden, w.fc2, room.hq, room.acc, room.y)
    if bad != GOOD:
        return bad, first + 5
    _add(room.x, room.y)
    _keep(kept, places, first + 5, room.x)
    return GOOD, 0


@jit
def _head(w: Weights, room: Room, logits: F32Array) -> None:
    over = ONE / np.float32(room.x.shape[0])
    room.pool[:] = ZERO
    for r in range(room.x.shape[0]):
        for c in range(room.x.shape[1]):
            room.pool[c] += room.x[r, c]
    for c in range(len(room.pool)):
        room.pool[c] = room.pool[c] * over
    for o in range(len(logits)):
        total = ZERO
        for c in range(len(room.pool)):
            total += w.head_w[o, c] * room.pool[c]
        logits[o] = w.head_b[o] + total


@jit
def _run(
    ids: S32Array, w: Weights, room: Room, places: S32Array, kept: F32Array, logits: F32Array
) -> tuple[int, int]:
    for r in range(len(ids)):
        for c in range(room.x.shape[1]):
            room.x[r, c] = w.emb[ids[r], c] + w.pos[r, c]
    _keep(kept, places, 0, room.x)
    for i in range(len(w.layers)):
        bad, stage = _layer(w.layers[i], room, 1 + 6 * i, places, kept)
        if bad != GOOD:
            return bad, stage
    _head(w, room, logits)
    _keep(kept, places, len(places) - 3, room.pool)
    _keep(kept, places, len(places) - 2, logits)
    return GOOD, 0


class TernaryMirror:
    """A model with its working memory. Not thread-safe."""

    def __init__(self, file: ModelFile) -> None:
        self.weights = _weights(file)
        self.outputs = file.outputs
        self._room = _room()
        self.stages = stage_shapes(self.outputs)
        sizes = [int(np.prod(shape)) for _, shape in self.stages]
        self._places = np.cumsum([0, *sizes]).astype(np.int32)
        self._kept = np.zeros(self._places[-1], np.float32)

    def run(self, text: bytes, tap: Tap | None = None) -> F32Array:
        """Logits float32 [outputs] of a text, cut or padded to 32 bytes.

        ``tap`` is called with each stage's name and array (valid during the call only), in order. Raises
        NotFiniteError.
        """
        logits = np.zeros(self.outputs, np.float32)
        kept = self._kept if tap is not None else self._kept[:0]
        bad, stage = _run(byte_tokens(text), self.weights, self._room, self._places, kept, logits)
        if tap is not None:
            for k, (name, shape) in enumerate(self.stages[: None if bad == GOOD else stage]):
                tap(name, self._kept[self._places[k] : self._places[k + 1]].reshape(shape))
        if bad != GOOD:
            raise NotFiniteError(self.stages[stage][0], bad)
        return logits
