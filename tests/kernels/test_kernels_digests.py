"""Digests and CRC-32: the reference, pieces that add up in any order, zlib."""

from __future__ import annotations

import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kernels.calls import KERNELS, draw
from tests.numerics import reference
from tests.numerics.patterns import any_float

KINDS = {
    "digest_f32": (0, np.float32, np.uint32),
    "digest_s8": (1, np.int8, np.uint8),
    "digest_u8": (2, np.uint8, np.uint8),
    "digest_s32": (3, np.int32, np.uint32),
}


def add(symbol: str, x: np.ndarray, first: int, acc: np.ndarray) -> None:
    KERNELS[symbol].mirror(x, np.int32(x.size), np.uint32(first & 0xFFFFFFFF), acc)


def digest(symbol: str, x: np.ndarray) -> int:
    acc = np.zeros(1, np.uint64)
    add(symbol, x, 0, acc)
    KERNELS["digest_end"].mirror(np.uint32(x.size), np.uint32(KINDS[symbol][0]), acc)
    return int(acc[0])


@pytest.mark.parametrize("symbol", KINDS)
def test_against_the_reference(symbol):
    kind, _, unsigned = KINDS[symbol]
    for seed in range(30):
        x = draw(symbol, seed).array("x")
        assert digest(symbol, x) == reference.digest(x.view(unsigned).tolist(), kind)


@given(st.lists(any_float, max_size=30))
def test_f32_with_nan_and_zeros(patterns):
    x = np.array(patterns, np.uint32).view(np.float32)
    assert digest("digest_f32", x) == reference.digest(patterns, 0)


def test_nan_payloads_are_one_value_and_zeros_are_two():
    nans = np.array([0x7FC00000, 0xFFC00000, 0x7F800001, 0xFFFFFFFF], np.uint32).view(np.float32)
    assert len({digest("digest_f32", nans[i : i + 1]) for i in range(4)}) == 1
    zeros = np.array([0.0, -0.0], np.float32)
    assert digest("digest_f32", zeros[:1]) != digest("digest_f32", zeros[1:])


@pytest.mark.parametrize("symbol", KINDS)
@pytest.mark.parametrize("first", [0, 1000, 0xFFFFFFF0])
def test_pieces_add_up_in_any_order(symbol, first):
    """Also when the index passes 2^32: indices count modulo 2^32."""
    x = draw(symbol, 4, n=97).array("x")
    whole, pieces = np.array([5], np.uint64), np.array([5], np.uint64)
    add(symbol, x, first, whole)
    for start, stop in ((60, 97), (0, 1), (1, 60)):
        add(symbol, x[start:stop], first + start, pieces)
    assert whole == pieces


def test_a_rectangle_of_a_stage():
    """Rows of a strided tensor, tapped one by one, digest like the dense tensor."""
    stage = np.arange(5 * 12, dtype=np.int32).reshape(5, 12)
    acc = np.zeros(1, np.uint64)
    for r in reversed(range(5)):
        add("digest_s32", stage[r, 2:9].copy(), r * 7, acc)
    KERNELS["digest_end"].mirror(np.uint32(35), np.uint32(3), acc)
    assert int(acc[0]) == digest("digest_s32", stage[:, 2:9].reshape(-1).copy())


def test_order_length_and_type_matter():
    a, b = np.array([-1, 2], np.int8), np.array([2, -1], np.int8)
    assert (digest("digest_s8", a), digest("digest_s8", b)) == (0xC87FC85F34022C50, 0x11E4D8E7C615B399)
    assert digest("digest_s8", a) != digest("digest_u8", a.view(np.uint8))
    assert digest("digest_s8", a) != digest("digest_s8", np.append(a, np.int8(0)))
    assert digest("digest_f32", np.zeros(0, np.float32)) == 0x4E17CF67001B3979


def test_b042_negative_bytes_are_zero_extended_from_8_bits():
    """B042: plain char is unsigned on Xtensa, signed on the host; the digest of -1 uses 0xFF."""
    acc = np.zeros(1, np.uint64)
    add("digest_s8", np.array([-1], np.int8), 0, acc)
    assert int(acc[0]) == reference.mix(0, 0xFF) != reference.mix(0, 0xFFFFFFFF)


@given(st.binary(max_size=200), st.integers(0, 0xFFFFFFFF))
def test_crc32_is_zlibs(data, crc):
    got = KERNELS["crc32_bytes"].mirror(
        np.uint32(crc), np.frombuffer(data, np.uint8).copy(), np.int32(len(data))
    )
    assert got == zlib.crc32(data, crc) == reference.crc32(data, crc)


def test_crc32_in_pieces():
    data = np.frombuffer(b"123456789", np.uint8).copy()
    mirror = KERNELS["crc32_bytes"].mirror
    assert mirror(np.uint32(0), data, np.int32(9)) == 0xCBF43926
    first = mirror(np.uint32(0), data[:4].copy(), np.int32(4))
    assert mirror(np.uint32(first), data[4:].copy(), np.int32(5)) == 0xCBF43926
