"""attention_s8 for all queries of a head at once: a lane for each query, logits as [key][query]."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from emu.models.blocks.linear import GOOD
from emu.numerics.bits import bits_of, float_of
from emu.numerics.constants import ONE, S8_MAX, ZERO, f32
from emu.numerics.gemm.multiply import multiply
from emu.numerics.gemm.packing import BLOCK_STEP, DEPTH, LANES, OFFSET
from emu.numerics.jit import jit
from emu.numerics.lanes import quantize_line
from emu.numerics.quantize import NOT_FINITE_BITS, largest_magnitude_bits
from emu.numerics.rounding import rne
from emu.numerics.types import F32Array, S8Array, S32Array, U8Array

_LOW: Final = f32(0xC2AE0000)  # -87
_LOG2_E: Final = f32(0x3FB8AA3B)
_C1, _C2, _C3 = f32(0x3F317AFD), f32(0x3E780627), f32(0x3D61512E)
INV_SQRT_32: Final = f32(0x3E3504F3)
_SIGNS: Final = np.uint32(0x80808080)


class AttentionRoom(NamedTuple):
    """Working memory for up to ``tokens`` tokens (a multiple of 16) and heads of 32."""

    row: S8Array
    qp: U8Array
    sq: F32Array
    kq: S8Array
    sk: F32Array
    start: S32Array
    vt: S8Array
    sv: F32Array
    columns: F32Array
    acc: S32Array
    logits: F32Array
    top: F32Array
    total: F32Array
    op: U8Array


def attention_room(tokens: int, dh: int = 32) -> AttentionRoom:
    """Room for ``tokens`` tokens, rounded up to a multiple of 16."""
    n = -(-tokens // LANES) * LANES
    f, i = np.float32, np.int32
    return AttentionRoom(
        row=np.zeros(dh, np.int8),
        qp=np.zeros(n * dh, np.uint8),
        sq=np.zeros(n, f),
        kq=np.zeros((n, dh), np.int8),
        sk=np.zeros(n, f),
        start=np.zeros(max(n, dh), i),
        vt=np.zeros((dh, n), np.int8),
        sv=np.zeros(dh, f),
        columns=np.zeros((dh, n), f),
        acc=np.zeros(n * max(n, dh), i),
        logits=np.zeros((n, n), f),
        top=np.zeros(n, f),
        total=np.zeros(n, f),
        op=np.zeros(n * n, np.uint8),
    )


@jit
def exp_not_positive(x: np.float32) -> np.float32:
    """exp_f32 for x <= 0, without branches."""
    inside = x if x > _LOW else _LOW
    t = inside * _LOG2_E
    n = rne(t)
    f = t - np.float32(n)
    p = ((_C3 * f + _C2) * f + _C1) * f + ONE
    y = float_of(np.int32(bits_of(p) + (n << 23)))
    return y if x >= _LOW else ZERO


@jit
def attention_head(qkv: F32Array, tokens: int, d: int, head: int, room: AttentionRoom, out: F32Array) -> int:
    """Columns of one head of ``out`` [tokens][d] from qkv [tokens][3 d], heads of 32."""
    dh = len(room.row)
    first = head * dh
    bad = _quantize_head(qkv, tokens, d, first, room)
    if bad != GOOD:
        return bad
    bad = _softmax(tokens, dh, room)
    if bad != GOOD:
        return bad
    _weighted(tokens, dh, room, first, out)
    return GOOD


@jit
def _quantize_head(qkv: F32Array, tokens: int, d: int, first: int, room: AttentionRoom) -> int:
    dh, n = room.vt.shape
    width = qkv.shape[1]
    row, queries = room.row.view(np.uint32), room.qp.view(np.uint32)
    for r in range(tokens):
        scale, _, finite = quantize_line(qkv, r * width + first, dh, room.row, 0)
        if not finite:
            return r
        room.sq[r] = scale
        place = (r // LANES) * len(row) * LANES + r % LANES
        for k in range(len(row)):
            queries[place + k * LANES] = row[k] ^ _SIGNS
    for r in range(tokens):
        scale, total, finite = quantize_line(qkv, r * width + d + first, dh, room.kq, r * dh)
        if not finite:
            return r
        room.sk[r] = scale
        room.start[r] = np.int32(-OFFSET * total)
    for r in range(tokens):
        for c in range(dh):
            room.columns[c, r] = qkv[r, 2 * d + first + c]
    for c in range(dh):
        scale, _, finite = quantize_line(room.columns, c * n, tokens, room.vt, c * n)
        if not finite:
            return c
        room.sv[c] = scale
        for r in range(tokens, n):
            room.vt[c, r] = 0
    return GOOD


@jit
def _softmax(tokens: int, dh: int, room: AttentionRoom) -> int:
    """Logits, their softmax as unsigned bytes in ``op`` [query block][key / 4][16][4], sums in ``total``."""
    blocks = (tokens + LANES - 1) // LANES
    n = blocks * LANES
    steps = dh // DEPTH
    multiply(
        room.kq.reshape(-1), 0, dh, tokens, room.qp, 0, steps * BLOCK_STEP, blocks, steps, room.start, 0,
        room.acc, 0, n,
    )  # fmt: skip
    top, total, wild = room.top[:n], room.total[:n], np.int32(0)
    top[:] = -np.float32(np.inf)
    total[:] = ZERO
    acc = room.acc[: tokens * n].reshape(tokens, n)
    for j in range(tokens):
        sk = room.sk[j]
        for i in range(n):
            value = np.float32(acc[j, i]) * ((room.sq[i] * sk) * INV_SQRT_32)
            room.logits[j, i] = value
            top[i] = value if value > top[i] else top[i]
            wild = max(wild, np.int32(bits_of(value) & 0x7FFFFFFF)) if i < tokens else wild
    if wild >= NOT_FINITE_BITS:
        return _first_wild(room.logits, tokens)
    _exponentials(tokens, n, room)
    return GOOD


@jit
def _first_wild(logits: F32Array, tokens: int) -> int:
    for i in range(tokens):
        for j in range(tokens):
            if not np.isfinite(logits[j, i]):
                return i
    return GOOD


@jit
def _exponentials(tokens: int, n: int, room: AttentionRoom) -> None:
    blocks, steps = n // LANES, (tokens + DEPTH - 1) // DEPTH
    for j in range(tokens):
        for i in range(n):
            r = exp_not_positive(room.logits[j, i] - room.top[i])
            room.total[i] += r
            room.logits[j, i] = r
    for j in range(tokens, steps * DEPTH):
        for i in range(n):
            room.logits[j, i] = ZERO
    words = room.op[: n * steps * DEPTH].view(np.uint32).reshape(blocks, steps, LANES)
    for b in range(blocks):
        for k in range(steps):
            for i in range(LANES):
                words[b, k, i] = _four_weights(room.logits, k * DEPTH, b * LANES + i)


@jit
def _four_weights(r: F32Array, j: int, i: int) -> np.uint32:
    """round(127 r) of four keys from j on for query i, as bytes of a word."""
    word = np.uint32(rne(r[j, i] * S8_MAX))
    for k in range(1, DEPTH):
        word |= np.uint32(rne(r[j + k, i] * S8_MAX)) << np.uint32(8 * k)
    return word


@jit
def _weighted(tokens: int, dh: int, room: AttentionRoom, first: int, out: F32Array) -> None:
    """Columns of out from ``first`` on = weighted values; weights are unsigned, so a product starts at 0."""
    blocks = (tokens + LANES - 1) // LANES
    n = blocks * LANES
    steps = (tokens + DEPTH - 1) // DEPTH
    room.start[:dh] = 0
    multiply(
        room.vt.reshape(-1), 0, room.vt.shape[1], dh, room.op, 0, steps * BLOCK_STEP, blocks, steps,
        room.start, 0, room.acc, 0, n,
    )  # fmt: skip
    acc = room.acc[: dh * n].reshape(dh, n)
    for i in range(tokens):
        a = ONE / (room.total[i] * S8_MAX)
        for c in range(dh):
            out[i, first + c] = np.float32(acc[c, i]) * (a * room.sv[c])


@jit
def quantizing_fails(qkv: F32Array, tokens: int, d: int, dh: int) -> int:
    """The row of q, else the row of k, else the column of v (in its head) that is not finite; -1 for none.

    Heads ascending for q, then for k, then for v: the order of the text-to-image firmware.
    """
    for part in range(2):
        for head in range(d // dh):
            first = part * d + head * dh
            for r in range(tokens):
                if largest_magnitude_bits(qkv[r, first : first + dh]) >= NOT_FINITE_BITS:
                    return r
    for c in range(d):
        for r in range(tokens):
            if not np.isfinite(qkv[r, 2 * d + c]):
                return c % dh
    return GOOD


@jit
def attention(qkv: F32Array, tokens: int, d: int, room: AttentionRoom, out: F32Array) -> int:
    """out [tokens][d] = attention_s8 of qkv [tokens][3 d]; every head is computed, the first failure told."""
    for head in range(d // len(room.row)):
        bad = attention_head(qkv, tokens, d, head, room, out)
        if bad != GOOD:
            return bad
    return GOOD
