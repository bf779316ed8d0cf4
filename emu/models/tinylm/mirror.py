"""The language model on the host, stage by stage and bit for bit (docs/models.md section 3)."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from emu.kernels.choose import argmax_f32, sample_f32
from emu.models.blocks import norms
from emu.models.blocks.cache import Cache, CacheRoom, attend, cache_of, cache_room, write_position
from emu.models.blocks.int4 import Int4Linear, Int4Table, int4_linear, linear_int4, table_row
from emu.models.blocks.linear import GOOD, Quantized, quantized
from emu.models.blocks.mlp import gelu_pairs, gelu_row
from emu.models.errors import NotFiniteError, PromptError
from emu.models.modelfile.reader import ModelFile
from emu.models.stages import Tap
from emu.models.tinylm import layout as t
from emu.models.tinylm.tokenizer import Tokenizer
from emu.numerics import random
from emu.numerics.activations import silu
from emu.numerics.constants import f32
from emu.numerics.int4 import unpack_int4
from emu.numerics.jit import jit
from emu.numerics.trigonometry import sincos_turn, turns
from emu.numerics.types import F32Array, S32Array

_INV_SQRT_D: Final = f32(0x3DB504F3)
_INV_SQRT_2: Final = f32(0x3F3504F3)
_SQRT_PLE: Final = f32(0x41000000)  # 8
_LAYER_STAGES: Final = ("norm", "qkv", "attn", "ffn", "ple")


class Layer(NamedTuple):
    """One layer."""

    norm1: F32Array
    norm2: F32Array
    norm3: F32Array
    qkv: Int4Linear
    o: Int4Linear
    gate: Int4Linear
    up: Int4Linear
    down: Int4Linear
    ple_gate: Int4Linear
    ple_proj: Int4Linear


class Weights(NamedTuple):
    """A whole model."""

    emb: Int4Table
    ple: Int4Table
    proj: Int4Linear
    ple_norm: F32Array
    layers: tuple[Layer, ...]
    norm: F32Array
    head: Int4Linear
    rope: F32Array
    gelu: F32Array


class Room(NamedTuple):
    """Working memory of one token."""

    h: F32Array
    x: F32Array
    y: F32Array
    wide: F32Array
    up: F32Array
    qkv: F32Array
    ple: F32Array
    table: F32Array
    sums: F32Array
    xq: Quantized
    acc: S32Array
    float_acc: F32Array
    cache: CacheRoom
    logits: F32Array


def _weights(file: ModelFile) -> Weights:
    def floats(name: str) -> F32Array:
        return np.array(file.array(name), np.float32)

    def table(name: str) -> Int4Table:
        spec = file.specs[f"{name}.w"]
        scale = np.array(file.array(f"{name}.w.scale"), np.uint16)
        return Int4Table(np.array(file.array(spec.name)), scale, spec.group, spec.cols)

    def layer(name: str) -> Int4Linear:
        spec = file.specs[f"{name}.w"]
        codes = unpack_int4(file.array(spec.name), spec.cols, spec.name)
        return int4_linear(codes, np.array(file.array(f"{name}.w.scale"), np.uint16), spec.group)

    def block(i: int) -> Layer:
        fields: list[Any] = [floats(f"l{i}.norm{k}") for k in (1, 2, 3)]
        return Layer(*fields, *(layer(f"l{i}.{name}") for name in t.LINEARS))

    return Weights(
        table("emb"),
        table("ple"),
        layer("proj"),
        floats("ple.norm"),
        tuple(block(i) for i in range(t.LAYERS)),
        floats("norm"),
        layer("head"),
        floats("rope.freq"),
        gelu_pairs(floats("gelu.value"), floats("gelu.slope")),
    )


def _room() -> Room:
    f = np.float32
    return Room(
        h=np.zeros((1, t.D), f),
        x=np.zeros((1, t.D), f),
        y=np.zeros(t.D, f),
        wide=np.zeros(t.FFN, f),
        up=np.zeros(t.FFN, f),
        qkv=np.zeros(3 * t.D, f),
        ple=np.zeros((t.LAYERS, t.PLE), f),
        table=np.zeros(t.LAYERS * t.PLE, f),
        sums=np.zeros(2 * t.LAYERS, f),
        xq=quantized(1, t.FFN),
        acc=np.zeros(t.VOCAB, np.int32),
        float_acc=np.zeros(t.VOCAB, f),
        cache=cache_room(t.CONTEXT, t.HEAD),
        logits=np.zeros(t.VOCAB, f),
    )


STAGES: Final = (
    ("emb", (t.D,)),
    ("ple", (t.LAYERS, t.PLE)),
    *(
        (f"l{i}.{name}", (3 * t.D if name == "qkv" else t.D,))
        for i in range(t.LAYERS)
        for name in _LAYER_STAGES
    ),
    ("logits", (t.VOCAB,)),
)
"""(name, shape) of the stages of a position, in order; all float32."""

PLACES: Final = np.cumsum([0, *(int(np.prod(shape)) for _, shape in STAGES)]).astype(np.int32)


@jit
def _keep(kept: F32Array, places: S32Array, stage: int, values: F32Array) -> None:
    if len(kept) > 0:
        kept[places[stage] : places[stage + 1]] = values


@jit
def _linear(x: F32Array, layer: Int4Linear, room: Room, y: F32Array) -> int:
    return linear_int4(x, layer, room.xq, room.acc, room.float_acc, y)


@jit
def _add(h: F32Array, y: F32Array) -> None:
    for c in range(len(h)):
        h[c] += y[c]


@jit
def _per_layer(token: int, table: Int4Table, proj: Int4Linear, norm: F32Array, room: Room) -> int:
    """room.ple [6][64] = (rmsnorm(proj(h) / sqrt(D)) + table[token] * sqrt(P)) / sqrt(2)."""
    flat = room.ple.reshape(-1)
    bad = _linear(room.h[0], proj, room, flat)
    if bad != GOOD:
        return bad
    for c in range(len(flat)):
        flat[c] = flat[c] * _INV_SQRT_D
    norms.rmsnorm(room.ple, room.ple.shape[0], room.ple.shape[1], norm, room.ple, room.sums)
    table_row(table, token, room.table)
    for c in range(len(flat)):
        flat[c] = (flat[c] + room.table[c] * _SQRT_PLE) * _INV_SQRT_2
    return GOOD


@jit
def _rope(x: F32Array, position: int, f: F32Array) -> None:
    """Rotate heads of 2 * len(f) in place."""
    half = len(f)
    for k in range(half):
        sin_u, cos_u = sincos_turn(turns(np.float32(position), f[k]))
        for first in range(0, len(x), 2 * half):
            a, b = x[first + k], x[first + half + k]
            x[first + k] = a * cos_u - b * sin_u
            x[first + half + k] = b * cos_u + a * sin_u


@jit
def _attention(w: Layer, rope: F32Array, position: int, cache: Cache, room: Room) -> tuple[int, int]:
    """room.qkv, room.y = attention before the output layer: (-1, 0), or (bad, offset of the stage)."""
    d = room.h.shape[1]
    bad = _linear(room.x[0], w.qkv, room, room.qkv)
    if bad != GOOD:
        return bad, 0
    _rope(room.qkv[: 2 * d], position, rope)
    bad = write_position(room.qkv[d : 2 * d], room.qkv[2 * d :], position, cache, room.cache)
    if bad != GOOD:
        return bad, 1
    return attend(room.qkv[:d], position + 1, cache, room.cache, room.y), 2


@jit
def _feed_forward(w: Layer, room: Room) -> int:
    """h = h + down(silu(gate(x)) * up(x)), x = rmsnorm(h)."""
    norms.rmsnorm(room.h, 1, room.h.shape[1], w.norm2, room.x, room.sums)
    bad = _linear(room.x[0], w.gate, room, room.wide)
    if bad != GOOD:
        return bad
    bad = _linear(room.x[0], w.up, room, room.up)
    if bad != GOOD:
        return bad
    for c in range(len(room.wide)):
        room.wide[c] = silu(room.wide[c]) * room.up[c]
    bad = _linear(room.wide, w.down, room, room.y)
    if bad == GOOD:
        _add(room.h[0], room.y)
    return bad


@jit
def _embedding_gate(w: Layer, gelu: F32Array, ple: F32Array, room: Room) -> tuple[int, int]:
    """h = h + rmsnorm(ple_proj(gelu(ple_gate(h)) * ple))."""
    gate = room.wide[: len(ple)]
    bad = _linear(room.h[0], w.ple_gate, room, gate)
    if bad != GOOD:
        return bad, 3
    gelu_row(gate, gelu)
    for c in range(len(gate)):
        gate[c] = gate[c] * ple[c]
    bad = _linear(gate, w.ple_proj, room, room.x[0])
    if bad != GOOD:
        return bad, 4
    norms.rmsnorm(room.x, 1, room.x.shape[1], w.norm3, room.x, room.sums)
    _add(room.h[0], room.x[0])
    return GOOD, 0


@jit
def _layer(
    i: int,
    layer: Layer,
    rope: F32Array,
    gelu: F32Array,
    position: int,
    cache: Cache,
    room: Room,
    places: S32Array,
    kept: F32Array,
) -> tuple[int, int]:
    """One layer: (-1, 0), or (row, number of the stage that is not finite)."""
    first = 2 + 5 * i
    norms.rmsnorm(room.h, 1, room.h.shape[1], layer.norm1, room.x, room.sums)
    _keep(kept, places, first, room.x[0])
    bad, offset = _attention(layer, rope, position, cache, room)
    if bad != GOOD:
        return bad, first + offset
    _keep(kept, places, first + 1, room.qkv)
    _keep(kept, places, first + 2, room.y)
    bad = _linear(room.y, layer.o, room, room.x[0])
    if bad != GOOD:
        return bad, first + 2
    _add(room.h[0], room.x[0])
    bad = _feed_forward(layer, room)
    if bad != GOOD:
        return bad, first + 3
    _keep(kept, places, first + 3, room.h[0])
    bad, offset = _embedding_gate(layer, gelu, room.ple[i], room)
    if bad != GOOD:
        return bad, first + offset
    _keep(kept, places, first + 4, room.h[0])
    return GOOD, 0


@jit
def _token(
    token: int,
    position: int,
    w: Weights,
    caches: tuple[Cache, ...],
    room: Room,
    places: S32Array,
    kept: F32Array,
) -> tuple[int, int]:
    table_row(w.emb, token, room.h[0])
    _keep(kept, places, 0, room.h[0])
    bad = _per_layer(token, w.ple, w.proj, w.ple_norm, room)
    if bad != GOOD:
        return bad, 0
    _keep(kept, places, 1, room.ple.reshape(-1))
    for i in range(len(w.layers)):
        bad, stage = _layer(i, w.layers[i], w.rope, w.gelu, position, caches[i], room, places, kept)
        if bad != GOOD:
            return bad, stage
    norms.rmsnorm(room.h, 1, room.h.shape[1], w.norm, room.x, room.sums)
    last = len(places) - 2
    bad = _linear(room.x[0], w.head, room, room.logits)
    if bad != GOOD:
        return bad, last
    _keep(kept, places, last, room.logits)
    return GOOD, 0


class TinylmMirror:
    """A model with its cache and working memory. Not thread-safe."""

    def __init__(self, file: ModelFile, seed: int = 0) -> None:
        """``seed``: of the sampler."""
        self.weights = _weights(file)
        self.tokenizer = Tokenizer(file.array("tok.start"), file.array("tok.bytes"))
        self._room = _room()
        self._kept = np.zeros(PLACES[-1], np.float32)
        self.start(seed)

    def start(self, seed: int = 0) -> None:
        """A new sequence: position 0, sampler at fmix32(seed)."""
        self._caches = tuple(cache_of(t.HEADS, t.CONTEXT, t.HEAD) for _ in range(t.LAYERS))
        self.position = 0
        self.state = np.array([random.fmix32(np.uint32(seed))], np.uint32)

    def step(self, token: int, tap: Tap | None = None) -> F32Array:
        """Logits float32 [4096] (valid until the next call) after one more token.

        ``tap`` is called with each stage's name (``p{position}.``...) and array, in order. Raises PromptError
        for an unknown token or a full context, NotFiniteError.
        """
        if not 0 <= token < t.VOCAB:
            raise PromptError(f"the token {token} is not in 0 to {t.VOCAB - 1}")
        if self.position >= t.CONTEXT:
            raise PromptError(f"the context of {t.CONTEXT} tokens is full")
        kept = self._kept if tap is not None else self._kept[:0]
        bad, stage = _token(token, self.position, self.weights, self._caches, self._room, PLACES, kept)
        prefix = f"p{self.position}."
        if tap is not None:
            for k, (name, shape) in enumerate(STAGES[: None if bad == GOOD else stage]):
                tap(prefix + name, self._kept[PLACES[k] : PLACES[k + 1]].reshape(shape))
        if bad != GOOD:
            raise NotFiniteError(prefix + STAGES[stage][0], bad)
        self.position += 1
        return self._room.logits

    def choose(self, logits: F32Array, temperature: float = 0.0) -> int:
        """The next token: drawn at a temperature above 0, else the most likely."""
        n = np.int32(len(logits))
        if temperature > 0:
            return int(sample_f32(logits, n, np.float32(temperature), self.state))
        return int(argmax_f32(logits, n))
