"""Text encoder, time and condition of the text-to-image mirror (docs/models.md section 1)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from emu.models.blocks import norms
from emu.models.blocks.attention import AttentionRoom, attention, attention_room
from emu.models.blocks.linear import GOOD, Linear, Quantized, linear, quantize_rows, quantized
from emu.models.blocks.mlp import MlpRoom, mlp, mlp_room
from emu.models.t2i import sizes as s
from emu.models.t2i.weights import TextBlock
from emu.numerics.activations import silu
from emu.numerics.constants import ONE, ZERO, f32
from emu.numerics.jit import jit
from emu.numerics.trigonometry import sincos_turn, turns
from emu.numerics.types import F32Array, S32Array

_THOUSAND = f32(0x447A0000)


class TextRoom(NamedTuple):
    """Working memory of the text encoder."""

    y: F32Array
    qkv: F32Array
    out: F32Array
    mean: F32Array
    var: F32Array
    xq: Quantized
    acc: S32Array
    attention: AttentionRoom
    mlp: MlpRoom


def text_room() -> TextRoom:
    """Room for 16 tokens."""
    rows, d = s.MAX_TOKENS, s.TEXT_D
    f = np.float32
    return TextRoom(
        np.zeros((rows, d), f),
        np.zeros((rows, 3 * d), f),
        np.zeros((rows, d), f),
        np.zeros(rows, f),
        np.zeros(rows, f),
        quantized(rows, d),
        np.zeros(rows * 3 * d, np.int32),
        attention_room(rows),
        mlp_room(rows, s.GROUP),
    )


@jit
def text_embedding(ids: S32Array, emb: F32Array, pos: F32Array, x: F32Array) -> None:
    """x [T][96] = embedding + position."""
    for r in range(len(ids)):
        for c in range(x.shape[1]):
            x[r, c] = emb[ids[r], c] + pos[r, c]


@jit
def _normed(x: F32Array, rows: int, ln: F32Array, room: TextRoom) -> int:
    norms.layernorm(x, rows, x.shape[1], room.y, room.mean, room.var)
    norms.affine(room.y, rows, ln[0], ln[1])
    return quantize_rows(room.y, rows, x.shape[1], room.xq)


@jit
def text_attention(x: F32Array, rows: int, b: TextBlock, room: TextRoom) -> int:
    """x = x + proj(attn(qkv(ln1(x)))) for x [rows][96]."""
    norms.layernorm(x, rows, x.shape[1], room.y, room.mean, room.var)
    norms.affine(room.y, rows, b.ln1[0], b.ln1[1])
    bad = linear(room.y, rows, b.qkv, room.xq, room.acc, room.qkv)
    if bad != GOOD:
        return bad
    bad = attention(room.qkv, rows, x.shape[1], room.attention, room.out)
    if bad != GOOD:
        return bad
    bad = linear(room.out, rows, b.proj, room.xq, room.acc, room.y)
    if bad == GOOD:
        _add(x, room.y, rows)
    return bad


@jit
def text_mlp(x: F32Array, rows: int, b: TextBlock, gelu: F32Array, room: TextRoom) -> int:
    """x = x + mlp(ln2(x)) for x [rows][96]."""
    bad = _normed(x, rows, b.ln2, room)
    if bad != GOOD:
        return bad
    bad = mlp(room.xq, rows, b.fc1, b.fc2, gelu, room.mlp, room.acc, room.y)
    if bad == GOOD:
        _add(x, room.y, rows)
    return bad


@jit
def _add(x: F32Array, y: F32Array, rows: int) -> None:
    for r in range(rows):
        for c in range(x.shape[1]):
            x[r, c] += y[r, c]


@jit
def pooled(x: F32Array, rows: int, m: F32Array) -> None:
    """m [96] = (sum over the rows, ascending) * (1 / rows)."""
    over = ONE / np.float32(rows)
    m[:] = ZERO
    for r in range(rows):
        for c in range(len(m)):
            m[c] += x[r, c]
    for c in range(len(m)):
        m[c] = m[c] * over


class RowRoom(NamedTuple):
    """Working memory of layers over a single row."""

    y: F32Array
    hidden: F32Array
    sums: F32Array
    xq: Quantized
    acc: S32Array


def row_room() -> RowRoom:
    """Room for rows of up to 256 columns and 1152 outputs."""
    f = np.float32
    return RowRoom(
        np.zeros((1, s.TIME), f), np.zeros((1, s.D), f), np.zeros(2, f), quantized(1, s.TIME),
        np.zeros(6 * s.D, np.int32),
    )  # fmt: skip


@jit
def _one(x: F32Array, layer: Linear, room: RowRoom, y: F32Array) -> int:
    """linear_w8a8 of one row; columns behind ``cols`` of the room are zero for every size used here."""
    room.xq.q[0, layer.cols :] = 0
    return linear(x, 1, layer, room.xq, room.acc, y)


@jit
def _two_layers(fc1: Linear, fc2: Linear, room: RowRoom, y: F32Array) -> int:
    """y [1][192] = fc2(silu(fc1(room.y)))."""
    bad = _one(room.y, fc1, room, room.hidden)
    if bad != GOOD:
        return bad
    for c in range(fc1.outs):
        room.hidden[0, c] = silu(room.hidden[0, c])
    return _one(room.hidden, fc2, room, y)


@jit
def text_condition(m: F32Array, ln: F32Array, fc1: Linear, fc2: Linear, room: RowRoom, y: F32Array) -> int:
    """y [1][192] = fc2(silu(fc1(ln(m)))) for m [1][96]."""
    norms.layernorm(m, 1, m.shape[1], room.y, room.sums[:1], room.sums[1:])
    norms.affine(room.y, 1, ln[0], ln[1])
    return _two_layers(fc1, fc2, room, y)


@jit
def time_vector(t: np.float32, freq: F32Array, fc1: Linear, fc2: Linear, room: RowRoom, y: F32Array) -> int:
    """y [1][192] = fc2(silu(fc1(time embedding of t)))."""
    p, half = t * _THOUSAND, len(freq)
    for k in range(half):
        sin_u, cos_u = sincos_turn(turns(p, freq[k]))
        room.y[0, k], room.y[0, half + k] = cos_u, sin_u
    return _two_layers(fc1, fc2, room, y)


@jit
def modulation(cond: F32Array, layer: Linear, room: RowRoom, y: F32Array) -> int:
    """y [1][outs] = linear(silu(cond)) for cond [192]."""
    for c in range(len(cond)):
        room.hidden[0, c] = silu(cond[c])
    return _one(room.hidden, layer, room, y)
