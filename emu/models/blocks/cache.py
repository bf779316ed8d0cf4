"""A quantized cache of keys and values, and attention of one query against it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from emu.models.blocks.attention import INV_SQRT_32, exp_not_positive
from emu.models.blocks.linear import GOOD, quantize_row
from emu.numerics.constants import ONE, ZERO
from emu.numerics.jit import jit
from emu.numerics.quantize import NOT_FINITE_BITS, largest_magnitude_bits
from emu.numerics.types import F32Array, S8Array


class Cache(NamedTuple):
    """Of one layer: kq int8 [heads][capacity][dh], sk [heads][capacity], vt [heads][dh][capacity], sv."""

    kq: S8Array
    sk: F32Array
    vt: S8Array
    sv: F32Array


class CacheRoom(NamedTuple):
    """Working memory of one head."""

    row: S8Array
    weights: S8Array
    logits: F32Array


def cache_of(heads: int, capacity: int, dh: int) -> Cache:
    """An empty cache."""
    f = np.float32
    return Cache(
        np.zeros((heads, capacity, dh), np.int8),
        np.zeros((heads, capacity), f),
        np.zeros((heads, dh, capacity), np.int8),
        np.zeros((heads, capacity), f),
    )


def cache_room(capacity: int, dh: int) -> CacheRoom:
    """Room for ``capacity`` positions and heads of ``dh``."""
    return CacheRoom(np.zeros(dh, np.int8), np.zeros(capacity, np.int8), np.zeros(capacity, np.float32))


@jit
def write_position(k: F32Array, v: F32Array, position: int, cache: Cache, room: CacheRoom) -> int:
    """Quantize k, v [heads * dh] into a position; -1, or the head that is not finite."""
    heads, dh = cache.vt.shape[0], cache.vt.shape[1]
    for h in range(heads):
        scale, _, finite = quantize_row(k[h * dh : (h + 1) * dh], cache.kq[h, position])
        if not finite:
            return h
        cache.sk[h, position] = scale
        scale, _, finite = quantize_row(v[h * dh : (h + 1) * dh], room.row)
        if not finite:
            return h
        cache.sv[h, position] = scale
        for c in range(dh):
            cache.vt[h, c, position] = room.row[c]
    return GOOD


@jit
def attend(q: F32Array, count: int, cache: Cache, room: CacheRoom, out: F32Array) -> int:
    """out [heads * dh] of the query against positions 0..count-1; -1, or the head that is not finite."""
    heads, dh = cache.vt.shape[0], cache.vt.shape[1]
    for h in range(heads):
        if not _attend_head(q[h * dh : (h + 1) * dh], count, h, cache, room, out[h * dh : (h + 1) * dh]):
            return h
    return GOOD


@jit
def _attend_head(q: F32Array, count: int, h: int, cache: Cache, room: CacheRoom, out: F32Array) -> bool:
    logits, weights, keys = room.logits[:count], room.weights[:count], cache.kq[h]
    sq, _, finite = quantize_row(q, room.row)
    if not finite:
        return False
    for j in range(count):
        acc = np.int32(0)
        for c in range(len(room.row)):
            acc = np.int32(acc + np.int32(room.row[c]) * np.int32(keys[j, c]))
        logits[j] = np.float32(acc) * ((sq * cache.sk[h, j]) * INV_SQRT_32)
    if largest_magnitude_bits(logits) >= NOT_FINITE_BITS:
        return False
    m = logits[0]
    for j in range(1, count):
        m = logits[j] if logits[j] > m else m
    for j in range(count):
        logits[j] = exp_not_positive(logits[j] - m)
    total = ZERO
    for j in range(count):
        total += logits[j]
        logits[j] = logits[j] * cache.sv[h, j]
    sw, _, finite = quantize_row(logits, weights)
    if not finite:
        return False
    factor = sw * (ONE / total)
    for c in range(len(out)):
        values, acc = cache.vt[h, c], np.int32(0)
        for j in range(count):
            acc = np.int32(acc + np.int32(weights[j]) * np.int32(values[j]))
        out[c] = np.float32(acc) * factor
    return True
