"""Attention against a quantized cache of keys and values, one position at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from emu.kernels.dot_checks import BAD_ARGUMENT, MISALIGNED, OK, TOO_MANY_COLUMNS, misaligned
from emu.kernels.layer_cases import BAD, pad16, scalar, scratch, vector
from emu.kernels.linear_q8 import dot
from emu.kernels.quantize_cases import KIND
from emu.kernels.shapes import below_zero
from emu.kernels.softmax import quantize_one
from emu.kernels.spec import Dim, Dims, Fault, Scalar, Tensor, kernel
from emu.numerics.constants import ONE, ZERO
from emu.numerics.exponential import exp_f32
from emu.numerics.jit import jit
from emu.numerics.quantize import NOT_FINITE_BITS, largest_magnitude_bits
from emu.numerics.status import MAX_COLUMNS
from emu.numerics.types import Count, F32Array, S8Array, S32Array, U8Array

Array = np.ndarray[Any, Any]
_NOT_FINITE = 4
_DIMS = (
    Dim("heads", 0, 4, special=(1, 4)),
    Dim("dh", 16, 48, multiple=16, special=(16, 32)),
    Dim("capacity", 16, 96, multiple=16, special=(16, 32, 64)),
    Dim("at", 0, 95, special=(0, 15, 16, 17, 31)),
    KIND,
)
_DERIVED = {
    "row": lambda d: d["heads"] * d["dh"],
    "cache": lambda d: d["heads"] * d["dh"] * d["capacity"],
    "scales": lambda d: d["heads"] * d["capacity"],
    "position": lambda d: d["at"] % d["capacity"],
    "count": lambda d: d["at"] % d["capacity"] + 1,
}


def _fill_row(dims: Dims, rng: np.random.Generator, array: Array) -> None:
    """In one kind of case, an element that is not finite."""
    if dims["kind"] == 7 and array.size and rng.random() < 0.5:
        array.flat[rng.integers(array.size)] = np.float32(rng.choice(np.array([np.nan, np.inf, -np.inf])))


def _fill_values(dims: Dims, rng: np.random.Generator, array: Array) -> None:
    """Zeros from the count to the end of its vector, as kv8_write leaves them."""
    flat = array.reshape(-1)
    for start in range(0, flat.size, dims["capacity"]):
        flat[start + dims["count"] : start + pad16(dims["count"])] = 0


def _floats(name: str) -> Tensor:
    return Tensor(name, "float32", ("row",), values="gelu", fill=_fill_row)


@jit
def _check(heads: np.int32, dh: np.int32, capacity: np.int32, kq: S8Array, vt: S8Array) -> int:
    if heads < 0 or dh < 16 or dh % 16 != 0 or capacity < 16 or capacity % 16 != 0:
        return BAD_ARGUMENT
    return MISALIGNED if misaligned(kq) or misaligned(vt) else OK


_CACHE_FAULTS = (
    Fault("negative heads", 1, {"heads": below_zero("heads")}),
    Fault("head of 8", 1, {"dh": 8}),
    Fault("head of 24", 1, {"dh": 24}),
    Fault("capacity 0", 1, {"capacity": 0}),
    Fault("capacity not a multiple of 16", 1, {"capacity": lambda d: d["capacity"] + 4}),
    Fault("kq misaligned", 3, misalign=("kq",)),
    Fault("vt misaligned", 3, misalign=("vt",)),
)


def _cache(role: Any) -> tuple[Tensor, ...]:
    fill = _fill_values if role == "in" else None
    return (
        Tensor("kq", "int8", ("cache",), role=role, align=16, values="s8"),
        Tensor("sk", "float32", ("scales",), role=role, values="(0,0.01]" if role == "in" else "moderate"),
        Tensor("vt", "int8", ("cache",), role=role, align=16, values="s8", fill=fill),
        Tensor("sv", "float32", ("scales",), role=role, values="moderate"),
    )


@kernel(
    "kv8_write",
    _floats("k"),
    _floats("v"),
    scalar("heads"),
    scalar("dh"),
    Scalar("position", "int32", "position"),
    scalar("capacity"),
    *_cache("inout"),
    scratch("dh", "row", "int8"),
    BAD,
    dims=_DIMS,
    derived=_DERIVED,
    returns="int32",
    source="numerics 10",
    faults=(
        *_CACHE_FAULTS,
        Fault("negative position", 1, {"position": below_zero("position")}),
        Fault("position behind the cache", 1, {"position": lambda d: d["capacity"]}),
    ),
)
@jit
def kv8_write(
    k: F32Array,
    v: F32Array,
    heads: np.int32,
    dh: np.int32,
    position: np.int32,
    capacity: np.int32,
    kq: S8Array,
    sk: F32Array,
    vt: S8Array,
    sv: F32Array,
    row: S8Array,
    bad: S32Array,
) -> int:
    """Quantize k, v float32 [heads][dh] into one position of the cache (section 10).

    kq int8 [heads][capacity][dh], vt int8 [heads][dh][capacity], sk, sv float32 [heads][capacity]; the first
    of 16 positions clears the 15 behind it in vt. Returns 0, 1, 3, or 4 with bad[0] = head.
    """
    status = _check(heads, dh, capacity, kq, vt)
    if status == BAD_ARGUMENT or position < 0 or position >= capacity:
        return BAD_ARGUMENT
    if status != OK:
        return status
    keys = np.zeros(dh, np.int8)
    for h in range(heads):
        finite, k_scale = quantize_one(k[h * dh : (h + 1) * dh], keys, dh)
        if finite:
            finite, v_scale = quantize_one(v[h * dh : (h + 1) * dh], row, dh)
        if not finite:
            bad[0] = h
            return _NOT_FINITE
        at = h * capacity + position
        kq[at * dh : (at + 1) * dh] = keys
        sk[at], sv[at] = k_scale, v_scale
        cleared = 16 if position % 16 == 0 else 1
        for c in range(dh):
            place = (h * dh + c) * capacity + position
            vt[place : place + cleared] = 0
            vt[place] = row[c]
    return OK


@kernel(
    "attention_kv8",
    _floats("q"),
    scalar("heads"),
    scalar("dh"),
    Scalar("count", "int32", "count"),
    scalar("capacity"),
    *_cache("in"),
    Scalar("inv_sqrt_dh", "float32", values="(0,0.25]"),
    vector("out", "row", role="out"),
    scratch(lambda d: 5 * pad16(d["count"]) + 5 * d["dh"]),
    BAD,
    dims=_DIMS,
    derived=_DERIVED,
    returns="int32",
    source="numerics 10",
    faults=(
        *_CACHE_FAULTS,
        Fault("no positions", 1, {"count": 0}),
        Fault("more positions than the cache has", 1, {"count": lambda d: d["capacity"] + 1}),
        Fault("scratch misaligned", 3, misalign=("scratch",)),
    ),
)
@jit
def attention_kv8(
    q: F32Array,
    heads: np.int32,
    dh: np.int32,
    count: np.int32,
    capacity: np.int32,
    kq: S8Array,
    sk: F32Array,
    vt: S8Array,
    sv: F32Array,
    inv_sqrt_dh: np.float32,
    out: F32Array,
    scratch: U8Array,
    bad: S32Array,
) -> int:
    """One query q float32 [heads][dh] against positions 0..count-1 of the cache, to out (section 10).

    Layout of the cache: :func:`kv8_write`. Returns 0, 1, 2, 3, or 4 with bad[0] = head; heads before it are
    complete.
    """
    status = _check(heads, dh, capacity, kq, vt)
    if status == BAD_ARGUMENT or count < 1 or count > capacity:
        return BAD_ARGUMENT
    if dh > MAX_COLUMNS or count > MAX_COLUMNS:
        return TOO_MANY_COLUMNS
    if status != OK or misaligned(scratch):
        return MISALIGNED
    for h in range(heads):
        at, cache = h * capacity, h * capacity * dh
        finite = _attend(
            q[h * dh : (h + 1) * dh], dh, count, capacity, kq[cache:], sk[at:], vt[cache:], sv[at:],
            np.float32(inv_sqrt_dh), out[h * dh : (h + 1) * dh],
        )  # fmt: skip
        if not finite:
            bad[0] = h
            return _NOT_FINITE
    return OK


@jit
def _attend(
    q: F32Array,
    dh: Count,
    count: Count,
    capacity: Count,
    kq: S8Array,
    sk: F32Array,
    vt: S8Array,
    sv: F32Array,
    inv_sqrt_dh: np.float32,
    out: F32Array,
) -> bool:
    qq, wq, logits = np.zeros(dh, np.int8), np.zeros(count, np.int8), np.zeros(count, np.float32)
    finite, sq = quantize_one(q, qq, dh)
    if not finite:
        return False
    for j in range(count):
        logits[j] = np.float32(dot(qq, 0, kq, j * dh, dh)) * ((sq * sk[j]) * inv_sqrt_dh)
    if largest_magnitude_bits(logits) >= NOT_FINITE_BITS:
        return False
    m = logits[0]
    for j in range(1, count):
        m = logits[j] if logits[j] > m else m
    total = ZERO
    for j in range(count):
        r = exp_f32(logits[j] - m)
        total += r
        logits[j] = r * sv[j]
    finite, sw = quantize_one(logits, wq, count)
    if not finite:
        return False
    factor = sw * (ONE / total)
    for c in range(dh):
        out[c] = np.float32(dot(wq, 0, vt, c * capacity, count)) * factor
    return True
