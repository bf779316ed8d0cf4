"""Layers of the host against the mirrors of the firmware's kernels, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

from emu.kernels.arrays import place
from emu.models.blocks import norms
from emu.models.blocks.attention import INV_SQRT_32, attention, attention_room, quantizing_fails
from emu.models.blocks.cache import attend, cache_of, cache_room, write_position
from emu.models.blocks.conv import conv_f32, conv_of, conv_room, conv_s8
from emu.models.blocks.int4 import int4_linear, linear_int4
from emu.models.blocks.linear import linear, linear_of, quantize_rows, quantized
from emu.models.blocks.mlp import gelu_pairs, mlp, mlp_room
from emu.models.blocks.ternary import bitlinear, bitlinear_of
from emu.numerics.int4 import int4_weights, pack_int4
from emu.numerics.tables import gelu_tables
from emu.numerics.ternary import pack_ternary
from tests.kernels.calls import KERNELS

N = np.int32
F = np.float32


def bits(array):
    return np.ascontiguousarray(array).view(np.uint32).tolist()


def rows_of(codes):
    """int8 [rows][cols] with rows padded to whole vectors, at a 16-byte boundary: (flat, stride)."""
    stride = -(-codes.shape[1] // 16) * 16
    full = np.zeros((len(codes), stride), np.int8)
    full[:, : codes.shape[1]] = codes
    return place(full, 0), N(stride)


def call(symbol, *arguments, scratch=1 << 20):
    """Call a mirror whose last parameters are scratch and bad; returns (status, bad)."""
    bad = np.full(1, -7, np.int32)
    status = KERNELS[symbol].mirror(*arguments, place(np.zeros(scratch, np.uint8), 0), bad)
    return status, int(bad[0])


def random_layer(rng, outs, cols):
    w = rng.integers(-127, 128, (outs, cols)).astype(np.int8)
    return w, rng.random(outs, F) * F(0.01), rng.standard_normal(outs).astype(F)


def sample(rng, rows, cols):
    """Rows with an outlier, a row of zeros and a tiny row among them."""
    x = rng.standard_normal((rows, cols)).astype(F)
    x[0, 0] *= F(100)
    if rows > 2:
        x[1], x[2] = 0, x[2] * F(2.0**-120)
    return x


@pytest.mark.parametrize(("rows", "outs", "cols"), [(1, 3, 16), (5, 48, 36), (64, 192, 192), (17, 384, 96)])
def test_linear(rows, outs, cols):
    rng = np.random.default_rng(rows)
    x, (w, sw, b) = sample(rng, rows, cols), random_layer(rng, outs, cols)
    found, expected = np.zeros((rows, outs), F), np.zeros((rows, outs), F)
    acc = np.zeros(rows * (outs + 15), np.int32)
    assert linear(x, rows, linear_of(w, sw, b), quantized(rows, cols), acc, found) == -1
    flat, stride = rows_of(w)
    size = x.reshape(-1), N(cols), N(rows)
    layer = flat, stride, sw, b, N(outs), N(cols)
    assert call("linear_w8a8", *size, *layer, expected.reshape(-1), N(outs))[0] == 0
    assert bits(found) == bits(expected)


def test_a_row_that_is_not_finite():
    x = sample(np.random.default_rng(1), 6, 20)
    x[4, 3] = np.inf
    assert quantize_rows(x, 6, 20, quantized(6, 20)) == 4


@pytest.mark.parametrize("rows", [1, 6, 64])
def test_mlp(rows):
    rng = np.random.default_rng(rows)
    x, (w1, sw1, b1), (w2, sw2, b2) = (
        sample(rng, rows, 48),
        random_layer(rng, 192, 48),
        random_layer(rng, 32, 192),
    )
    value, slope = gelu_tables()
    xq, found, expected = quantized(rows, 48), np.zeros((rows, 32), F), np.zeros((rows, 32), F)
    assert quantize_rows(x, rows, 48, xq) == -1
    layers = linear_of(w1, sw1, b1), linear_of(w2, sw2, b2)
    room, acc = mlp_room(rows, 96), np.zeros(rows * 192, np.int32)
    assert mlp(xq, rows, *layers, gelu_pairs(value, slope), room, acc, found) == -1
    first, second = rows_of(w1), rows_of(w2)
    sizes = N(48), N(192), N(32), N(96)
    status, _ = call(
        "mlp_grouped", x.reshape(-1), N(48), N(rows), *first, sw1, b1, *second, sw2, b2, *sizes, value, slope,
        expected.reshape(-1), N(32),
    )  # fmt: skip
    assert status == 0
    assert bits(found) == bits(expected)


def heads(qkv, tokens, d):
    """attention_s8 head by head with the mirror of the kernel: (out, first (status, bad))."""
    out, flat = np.zeros((tokens, d), F), qkv.reshape(-1)
    for first in range(0, d, 32):
        head = np.zeros(tokens * 32, F)
        parts = [
            flat[start : start + (tokens - 1) * 3 * d + 32] for start in (first, d + first, 2 * d + first)
        ]
        sizes = N(3 * d), N(tokens), N(32), INV_SQRT_32
        status, bad = call("attention_s8", *parts, *sizes, head, N(32))
        if status:
            return out, (status, bad)
        out[:, first : first + 32] = head.reshape(tokens, 32)
    return out, (0, -7)


@pytest.mark.parametrize("tokens", [1, 2, 15, 16, 17, 32, 64])
def test_attention(tokens):
    rng = np.random.default_rng(tokens)
    qkv = sample(rng, tokens, 3 * 96) * F(2)
    found = np.zeros((tokens, 96), F)
    assert attention(qkv, tokens, 96, attention_room(64), found) == -1
    assert bits(found) == bits(heads(qkv, tokens, 96)[0])
    assert quantizing_fails(qkv, tokens, 96, 32) == -1


@pytest.mark.parametrize("column", [0, 70, 96 + 40, 2 * 96 + 50])
def test_attention_that_is_not_finite(column):
    qkv = sample(np.random.default_rng(1), 9, 3 * 96)
    qkv[5, column] = np.nan
    found = attention(qkv, 9, 96, attention_room(16), np.zeros((9, 96), F))
    assert (4, found) == heads(qkv, 9, 96)[1]
    assert quantizing_fails(qkv, 9, 96, 32) == found
    huge = np.full((3, 3 * 96), 3e25, F)
    assert attention(huge, 3, 96, attention_room(16), np.zeros((3, 96), F)) == 0
    assert quantizing_fails(huge, 3, 96, 32) == -1


@pytest.mark.parametrize(("rows", "cols"), [(1, 5), (8, 96), (13, 192), (64, 192)])
def test_norms(rows, cols):
    rng = np.random.default_rng(rows)
    x, w, b = (
        sample(rng, rows, cols),
        rng.standard_normal(cols).astype(F),
        rng.standard_normal(cols).astype(F),
    )
    n, expected, sums = (N(cols), N(rows)), np.zeros((rows, cols), F), np.zeros(2 * rows, F)
    found = np.zeros((rows, cols), F)
    norms.rmsnorm(x, rows, cols, w, found, sums)
    KERNELS["rmsnorm"].mirror(x.reshape(-1), n[0], w, expected.reshape(-1), n[0], n[1], n[0])
    assert bits(found) == bits(expected)
    for apply, symbol in ((norms.modulate, "modulate"), (norms.affine, "affine")):
        norms.layernorm(x, rows, cols, found, sums[:rows], sums[rows:])
        apply(found, rows, w, b)
        KERNELS["layernorm"].mirror(x.reshape(-1), n[0], expected.reshape(-1), n[0], n[1], n[0])
        KERNELS[symbol].mirror(expected.reshape(-1), n[0], w, b, n[1], n[0])
        assert bits(found) == bits(expected)


@pytest.mark.parametrize("up", [0, 1])
@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize(("channels", "outs"), [(4, 64), (5, 3), (48, 32)])
def test_convolutions(up, relu, channels, outs):
    rng = np.random.default_rng(channels)
    x = rng.integers(-128, 128, (3, 4, channels)).astype(np.int8)
    w, sw, b = random_layer(rng, outs, 9 * channels)
    conv, (flat, stride) = conv_of(w, sw, b), rows_of(w)
    height, width = 3 << up, 4 << up
    head = x.reshape(-1), *map(N, (3, 4, channels, up, relu)), F(0.07), flat, stride, sw, b, N(outs)
    room, part = conv_room(width, channels, outs), (N(0), N(height))
    scratch = place(np.zeros(1 << 18, np.uint8), 0)
    found, expected = np.zeros((height, width, outs), F), np.zeros((height, width, outs), F)
    for rows in ((0, 2), (2, height)):
        conv_f32(x, conv, up, relu, F(0.07), rows, room, found)
    assert KERNELS["conv3x3_f32"].mirror(*head, expected.reshape(-1), *part, scratch) == 0
    assert bits(found) == bits(expected)
    other = rng.integers(-127, 128, (height, width, outs)).astype(np.int8)
    found, expected = np.zeros((height, width, outs), np.int8), other.copy()
    conv_s8(x, conv, up, relu, F(0.07), F(0.1), other, F(0.05), (0, height), room, found)
    scales = F(0.05), F(0.1)
    assert KERNELS["conv3x3_add_s8"].mirror(*head, *scales, expected.reshape(-1), *part, scratch) == 0
    assert np.array_equal(found, expected)
    conv_s8(x, conv, up, relu, F(0.07), F(0.1), np.zeros((0, 0, 0), np.int8), F(0), (0, height), room, found)
    assert KERNELS["conv3x3_s8"].mirror(*head, F(0.1), expected.reshape(-1), *part, scratch) == 0
    assert np.array_equal(found, expected)


def test_bitlinear():
    rng = np.random.default_rng(3)
    x, codes = sample(rng, 32, 128), rng.integers(-1, 2, (64, 128)).astype(np.int8)
    found, expected = np.zeros((32, 64), F), np.zeros((32, 64), F)
    layer, acc = bitlinear_of(codes, F(0.03)), np.zeros(32 * 64, np.int32)
    assert bitlinear(x, layer, quantized(32, 128), acc, found) == -1
    packed = place(pack_ternary(codes, 32), 0)
    scratch = place(np.zeros(32 * 132, np.uint8), 0)
    sizes = N(32), N(128), packed, N(32), N(64), F(0.03)
    assert KERNELS["bitlinear"].mirror(x.reshape(-1), *sizes, expected.reshape(-1), N(64), scratch) == 0
    assert bits(found) == bits(expected)
    x[3, 3] = np.nan
    assert bitlinear(x, layer, quantized(32, 128), acc, found) == 0


@pytest.mark.parametrize(
    ("outs", "cols", "group"), [(3, 64, 32), (128, 415, 32), (415, 128, 32), (70, 128, 128)]
)
def test_linear_int4(outs, cols, group):
    rng = np.random.default_rng(outs)
    codes, scale = int4_weights(rng.standard_normal((outs, cols)), group)
    x, patterns = sample(rng, 1, cols)[0], scale.view(np.uint16)
    found, expected, width = np.zeros(outs, F), np.zeros(outs, F), outs + 15
    layer = int4_linear(codes, patterns, group)
    room = quantized(1, 448), np.zeros(width, np.int32), np.zeros(width, F)
    assert linear_int4(x, layer, *room, found) == -1
    row_bytes = -(-cols // 32) * 16
    packed, scratch = place(pack_int4(codes, row_bytes), 0), place(np.zeros(1 << 12, np.uint8), 0)
    sizes = N(cols), packed, N(row_bytes), patterns.reshape(-1), N(group), N(outs)
    assert KERNELS["linear_int4"].mirror(x, *sizes, expected, scratch) == 0
    assert bits(found) == bits(expected)


def test_the_cache_of_keys_and_values():
    """40 positions: written, then read by one query each."""
    rng = np.random.default_rng(5)
    cache, room = cache_of(4, 48, 32), cache_room(48, 32)
    kq, vt = place(np.zeros(4 * 48 * 32, np.int8), 0), place(np.full(4 * 48 * 32, 5, np.int8), 0)
    sk, sv, bad = np.zeros(4 * 48, F), np.zeros(4 * 48, F), np.zeros(1, np.int32)
    scratch, row = place(np.zeros(1 << 12, np.uint8), 0), np.zeros(32, np.int8)
    for position in range(40):
        q, k, v = (sample(rng, 1, 128)[0] for _ in range(3))
        assert write_position(k, v, position, cache, room) == -1
        sizes = N(4), N(32), N(position), N(48)
        assert KERNELS["kv8_write"].mirror(k, v, *sizes, kq, sk, vt, sv, row, bad) == 0
        found, expected = np.zeros(128, F), np.zeros(128, F)
        assert attend(q, position + 1, cache, room, found) == -1
        sizes = N(4), N(32), N(position + 1), N(48)
        assert (
            KERNELS["attention_kv8"].mirror(q, *sizes, kq, sk, vt, sv, INV_SQRT_32, expected, scratch, bad)
            == 0
        )
        assert bits(found) == bits(expected)
    q[70] = np.inf
    assert attend(q, 40, cache, room, found) == 2
