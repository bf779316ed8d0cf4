"""Attention of one head: over quantized rows, and from float32 rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from emu.kernels.dot_checks import BAD_ARGUMENT, MISALIGNED, OK, TOO_MANY_COLUMNS, misaligned
from emu.kernels.layer_cases import (
    BAD,
    codes,
    floats,
    gap_stride,
    pad16,
    scalar,
    scratch,
    vector,
    whole,
)
from emu.kernels.linear_q8 import dot
from emu.kernels.quantize import quantize_row_s8
from emu.kernels.quantize_cases import KIND
from emu.kernels.shapes import FAR_TOO_MANY, TOO_MANY, TOO_MANY_STRIDE, alike, below_zero, extent, too_short
from emu.kernels.softmax import quantize_columns_s8, softmax_row
from emu.kernels.spec import Dim, Fault, Scalar, Tensor, kernel
from emu.numerics.constants import ONE, S8_MAX
from emu.numerics.jit import jit
from emu.numerics.status import MAX_COLUMNS
from emu.numerics.types import F32Array, S8Array, S32Array, U8Array

_NOT_FINITE = 4
_TOKENS = Dim("tokens", 1, 70, special=(1, 2, 3, 15, 16, 17, 32, 64))
_DH = Dim("dh", 16, 64, multiple=16, special=(16, 32))
_INV = Scalar("inv_sqrt_dh", "float32", values="(0,0.25]")
_OUT = (floats("out", "rows", "out_stride", "dh", role="out"), scalar("out_stride"))


@jit
def _check(
    q: S8Array,
    q_stride: np.int32,
    rows: np.int32,
    k: S8Array,
    k_stride: np.int32,
    tokens: np.int32,
    dh: np.int32,
    vt: S8Array,
    vt_stride: np.int32,
    out_stride: np.int32,
    scratch: U8Array,
) -> int:
    if rows < 0 or tokens < 1 or dh < 16 or dh % 16 != 0 or q_stride < dh or k_stride < dh:
        return BAD_ARGUMENT
    if out_stride < dh or vt_stride < tokens or (tokens <= MAX_COLUMNS and vt_stride < (tokens + 15) & ~15):
        return BAD_ARGUMENT
    if tokens > MAX_COLUMNS or dh > MAX_COLUMNS:
        return TOO_MANY_COLUMNS
    if misaligned(q) or misaligned(k) or misaligned(vt) or misaligned(scratch):
        return MISALIGNED
    return MISALIGNED if (q_stride | k_stride | vt_stride) & 15 != 0 else OK


@jit
def _attend(
    q: S8Array,
    q_stride: np.int32,
    sq: F32Array,
    rows: np.int32,
    k: S8Array,
    k_stride: np.int32,
    sk: F32Array,
    tokens: np.int32,
    dh: np.int32,
    inv_sqrt_dh: np.float32,
    vt: S8Array,
    vt_stride: np.int32,
    sv: F32Array,
    out: F32Array,
    out_stride: np.int32,
    bad: S32Array,
) -> int:
    logits, o = np.zeros(tokens, np.float32), np.zeros(tokens, np.int8)
    for r in range(rows):
        for j in range(tokens):
            acc = np.float32(dot(q, r * q_stride, k, j * k_stride, dh))
            logits[j] = acc * ((sq[r] * sk[j]) * np.float32(inv_sqrt_dh))
        finite, total = softmax_row(logits, tokens, o, tokens)
        if not finite:
            bad[0] = r
            return _NOT_FINITE
        a = ONE / (total * S8_MAX)
        for c in range(dh):
            acc = np.float32(dot(o, 0, vt, c * vt_stride, tokens))
            out[r * out_stride + c] = acc * (a * sv[c])
    return OK


_LOUD, _ONE_LOUD = (3,), (2, 4)
_LOUDNESS = Dim("loudness", 0, 15)
"""One query's scale is so large that its logits are not finite: all of them, or one alone."""


def _fill_query_scales(dims: Any, rng: np.random.Generator, array: Any) -> None:
    if array.size and dims["loudness"] in (*_LOUD, *_ONE_LOUD):
        array.flat[rng.integers(array.size)] = np.float32(2.0**127)


def _fill_key_scales(dims: Any, rng: np.random.Generator, array: Any) -> None:
    if dims["loudness"] in _ONE_LOUD:
        array[...] = np.float32(1e-30)
        array.flat[rng.integers(array.size)] = np.float32(0.01)


_LONG = {"tokens": TOO_MANY, "vt_stride": TOO_MANY_STRIDE}
_Q8: dict[str, Any] = {
    "dims": (
        Dim("rows", 0, 5, special=(1, 2, 3)),
        _TOKENS,
        _DH,
        *(Dim(f"{name}_gap", 0, 2) for name in ("q", "k", "vt", "out")),
        _LOUDNESS,
    ),
    "derived": {
        "padded": whole("tokens"),
        "q_stride": gap_stride("dh", "q_gap", 16),
        "k_stride": gap_stride("dh", "k_gap", 16),
        "vt_stride": gap_stride("tokens", "vt_gap", 16),
        "out_stride": gap_stride("dh", "out_gap"),
    },
    "returns": "int32",
    "source": "numerics 10",
    "faults": (
        Fault("negative rows", 1, {"rows": below_zero("rows")}),
        Fault("no rows", 0, {"rows": 0}),
        Fault("no tokens", 1, {"tokens": 0}),
        Fault("no tokens at a misaligned k", 1, {"tokens": 0}, ("k",)),
        Fault("head of 8", 1, {"dh": 8}),
        Fault("head of 24", 1, {"dh": 24}),
        Fault("q_stride below dh", 1, {"q_stride": too_short("q_stride", "dh")}),
        Fault("k_stride below dh", 1, {"k_stride": too_short("k_stride", "dh")}),
        Fault("vt_stride below whole vectors", 1, {"vt_stride": too_short("vt_stride", "padded")}),
        Fault("out_stride below dh", 1, {"out_stride": too_short("out_stride", "dh")}),
        Fault("far too many tokens", 2, dict.fromkeys(_LONG, FAR_TOO_MANY)),
        Fault("too many tokens", 2, _LONG),
        Fault("too many tokens at a misaligned q", 2, _LONG, ("q",)),
        Fault("q misaligned", 3, misalign=("q",)),
        Fault("k misaligned", 3, misalign=("k",)),
        Fault("vt misaligned", 3, misalign=("vt",)),
        Fault("scratch misaligned", 3, misalign=("scratch",)),
        Fault("q and q_stride off alike", 3, alike("q_stride"), ("q",)),
        Fault("k and k_stride off alike", 3, alike("k_stride"), ("k",)),
        Fault("q_stride and k_stride off alike", 3, alike("q_stride", "k_stride")),
        Fault("vt and vt_stride off alike", 3, alike("vt_stride"), ("vt",)),
        Fault("q_stride not a multiple of 16", 3, {"q_stride": lambda d: d["q_stride"] + 8}),
        Fault("k_stride not a multiple of 16", 3, {"k_stride": lambda d: d["k_stride"] + 4}),
        Fault("vt_stride not a multiple of 16", 3, {"vt_stride": lambda d: d["vt_stride"] + 1}),
    ),
}
_Q8_PARAMS = (
    codes("q", "rows", "q_stride", "dh", "dh"),
    scalar("q_stride"),
    Tensor("sq", "float32", ("rows",), values="moderate", fill=_fill_query_scales),
    scalar("rows"),
    codes("k", "tokens", "k_stride", "dh", "dh"),
    scalar("k_stride"),
    Tensor("sk", "float32", ("tokens",), values="(0,0.01]", fill=_fill_key_scales),
    scalar("tokens"),
    scalar("dh"),
    _INV,
    codes("vt", "dh", "vt_stride", "tokens", "padded"),
    scalar("vt_stride"),
    vector("sv", "dh"),
    *_OUT,
    scratch(lambda d: 5 * pad16(d["tokens"]) + 4 * d["dh"]),
    BAD,
)


@kernel("attention_q8_c", *_Q8_PARAMS, **_Q8)
@kernel("attention_q8", *_Q8_PARAMS, **_Q8)
@jit
def attention_q8(
    q: S8Array,
    q_stride: np.int32,
    sq: F32Array,
    rows: np.int32,
    k: S8Array,
    k_stride: np.int32,
    sk: F32Array,
    tokens: np.int32,
    dh: np.int32,
    inv_sqrt_dh: np.float32,
    vt: S8Array,
    vt_stride: np.int32,
    sv: F32Array,
    out: F32Array,
    out_stride: np.int32,
    scratch: U8Array,
    bad: S32Array,
) -> int:
    """``rows`` queries against ``tokens`` quantized keys and values of one head (section 10).

    q int8 [rows][q_stride], k int8 [tokens][k_stride], vt int8 [dh][vt_stride], out float32
    [rows][out_stride]. Returns 0, 1, 2, 3, or 4 with bad[0] = query; out of the queries before it is
    complete.
    """
    status = _check(q, q_stride, rows, k, k_stride, tokens, dh, vt, vt_stride, out_stride, scratch)
    if status != OK:
        return int(status)
    return _attend(
        q,
        q_stride,
        sq,
        rows,
        k,
        k_stride,
        sk,
        tokens,
        dh,
        inv_sqrt_dh,
        vt,
        vt_stride,
        sv,
        out,
        out_stride,
        bad,
    )


attention_q8_c = attention_q8


def _fill_float(dims: Any, rng: np.random.Generator, array: Any) -> None:
    """In one kind of case, an element that is not finite."""
    if dims["kind"] == 7 and array.size and rng.random() < 0.5:
        array.flat[rng.integers(array.size)] = np.float32(rng.choice(np.array([np.nan, np.inf, -np.inf])))


def _rows(name: str) -> Tensor:
    size = extent("tokens", "stride", "dh")
    return Tensor(name, "float32", (size,), values="gelu", fill=_fill_float)


@kernel(
    "attention_s8",
    _rows("q"),
    _rows("k"),
    _rows("v"),
    scalar("stride"),
    scalar("tokens"),
    scalar("dh"),
    _INV,
    floats("out", "tokens", "out_stride", "dh", role="out"),
    scalar("out_stride"),
    scratch(
        lambda d: (2 * d["tokens"] + pad16(d["tokens"])) * d["dh"] + 17 * pad16(d["tokens"]) + 8 * d["dh"]
    ),
    BAD,
    dims=(_TOKENS, _DH, Dim("gap", 0, 20), Dim("out_gap", 0, 5), KIND),
    derived={"stride": gap_stride("dh", "gap"), "out_stride": gap_stride("dh", "out_gap")},
    returns="int32",
    source="numerics 10",
    faults=(
        Fault("no tokens", 1, {"tokens": 0}),
        Fault("no tokens at a misaligned scratch", 1, {"tokens": 0}, ("scratch",)),
        Fault("negative tokens at a misaligned scratch", 1, {"tokens": -1}, ("scratch",)),
        Fault("head of 8", 1, {"dh": 8}),
        Fault("head of 24", 1, {"dh": 24, "stride": 24, "out_stride": 24}),
        Fault("stride below dh", 1, {"stride": too_short("stride", "dh")}),
        Fault("out_stride below dh", 1, {"out_stride": too_short("out_stride", "dh")}),
        Fault("far too many tokens", 2, {"tokens": FAR_TOO_MANY}),
        Fault("too many tokens", 2, {"tokens": TOO_MANY}),
        Fault("scratch misaligned", 3, misalign=("scratch",)),
    ),
)
@jit
def attention_s8(
    q: F32Array,
    k: F32Array,
    v: F32Array,
    stride: np.int32,
    tokens: np.int32,
    dh: np.int32,
    inv_sqrt_dh: np.float32,
    out: F32Array,
    out_stride: np.int32,
    scratch: U8Array,
    bad: S32Array,
) -> int:
    """One head from float32 rows q, k, v [tokens][stride] to out [tokens][out_stride] (section 10).

    Returns 0, 1, 2, 3, or 4 with bad[0] = row of q, row of k, column of v, or query of the logits.
    """
    if tokens < 1 or dh < 16 or dh % 16 != 0 or stride < dh or out_stride < dh:
        return BAD_ARGUMENT
    if tokens > MAX_COLUMNS or dh > MAX_COLUMNS:
        return TOO_MANY_COLUMNS
    if misaligned(scratch):
        return MISALIGNED
    padded = np.int32((tokens + 15) & ~15)
    qq, kq, vt = (
        np.zeros(tokens * dh, np.int8),
        np.zeros(tokens * dh, np.int8),
        np.zeros(dh * padded, np.int8),
    )
    sq, sk, sv = np.zeros(tokens, np.float32), np.zeros(tokens, np.float32), np.zeros(dh, np.float32)
    status = quantize_row_s8(q, stride, qq, dh, sq, tokens, dh, bad)
    if status == OK:
        status = quantize_row_s8(k, stride, kq, dh, sk, tokens, dh, bad)
    if status == OK:
        column = np.zeros(tokens, np.float32)
        status = quantize_columns_s8(v, stride, tokens, dh, vt, padded, sv, column, bad)
    if status != OK:
        return int(status)
    return _attend(
        qq, dh, sq, tokens, kq, dh, sk, tokens, dh, inv_sqrt_dh, vt, padded, sv, out, out_stride, bad
    )
