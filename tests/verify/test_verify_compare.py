"""Comparison bit for bit, with distances, and sentences that say which elements differ."""

from __future__ import annotations

import numpy as np
import pytest

from emu.verify.compare import decimal, difference, hexadecimal
from emu.verify.describe import count_text, first_text


def floats(*bits):
    return np.array(bits, np.uint32).view(np.float32)


def test_every_nan_is_one_value():
    a = floats(0x7FC00000, 0x7F800001, 0xFFFFFFFF, 0xFFC00000)
    b = floats(0xFFC00001, 0x7FC00000, 0x7FABCDEF, 0x7FC00000)
    assert difference("y", (4,), a, b) is None
    found = difference("y", (1,), floats(0x7F800000), floats(0x7FC12345))
    assert found is not None
    assert (found.expected_bits, found.actual_bits, found.distance) == (0x7F800000, 0x7FC00000, None)


def test_minus_zero_is_not_zero():
    found = difference("y", (2,), floats(0, 0x80000000), floats(0, 0))
    assert found is not None
    assert found.index == (1,)
    assert found.distance == 0
    assert "sign of zero" in first_text(found)
    assert "sign of zero" in found.pattern


@pytest.mark.parametrize(
    ("a", "b", "ulp"),
    [
        (0x3F800000, 0x3F800001, 1),
        (0x3F800000, 0x3F7FFFFF, -1),
        (0x00000001, 0x80000001, -2),
        (0x00000000, 0x00000001, 1),
        (0x80000000, 0x80000001, -1),
        (0x7F7FFFFF, 0x7F800000, 1),
        (0x007FFFFF, 0x00800000, 1),
        (0xFF800000, 0x7F800000, 2 * 0x7F800000),
    ],
)
def test_ulp_counts_representable_values(a, b, ulp):
    found = difference("y", (1,), floats(a), floats(b))
    assert found is not None
    assert found.distance == ulp


def test_integers_differ_by_plain_difference():
    a, b = np.array([-128, 5], np.int8), np.array([127, 5], np.int8)
    found = difference("q", (2,), a, b)
    assert found is not None
    assert (found.distance, found.count, found.total) == (255, 1, 2)
    big = difference("acc", (1,), np.array([0], np.uint64), np.array([2**64 - 1], np.uint64))
    assert big is not None
    assert big.distance == 2**64 - 1
    assert hexadecimal(big.actual_bits, "uint64") == "0xFFFFFFFFFFFFFFFF"


def test_index_has_as_many_dimensions_as_the_shape():
    a = np.zeros(24, np.int32)
    b = a.copy()
    b[17] = 9
    found = difference("acc", (2, 3, 4), a, b)
    assert found is not None
    assert found.index == (1, 1, 1)
    short = difference("acc", (3, 10), a, b)
    assert short is not None
    assert short.index == (1, 7)


def test_mask_hides_and_counts():
    a, b = np.arange(8, dtype=np.int16), np.arange(8, dtype=np.int16)
    b[[2, 5]] = 0
    mask = np.ones(8, bool)
    mask[2] = False
    found = difference("y", (8,), a, b, mask)
    assert found is not None
    assert (found.index, found.count, found.total) == ((5,), 1, 7)
    mask[5] = False
    assert difference("y", (8,), a, b, mask) is None


@pytest.mark.parametrize(
    ("shape", "wrong", "words"),
    [
        ((64,), range(64), "every element"),
        ((64,), [9], "a single element"),
        ((64,), range(16), "the first 16 of 64"),
        ((64,), range(48, 64), "the last 16 of 64 (tail)"),
        ((64,), range(20, 30), "elements 20..29 of 64"),
        ((64,), range(3, 64, 16), "every 16th element from 3"),
        ((64,), [2, 3, 18, 34, 35, 50, 51], "index mod 16 = 2, 3"),
        ((64,), [0, 3, 4, 9, 17, 33, 50, 61], "scattered, 8 of 64"),
        ((4, 16), range(16, 64), "whole rows: 1..3 of 4"),
        ((4, 16), [7, 23, 39, 55], "whole columns: 7 of 16"),
        ((4, 16), range(40, 48), "only row 2 of 4: the last 8 of 16 (tail)"),
        ((4, 16), [16, 17, 32, 49], "every row but the first"),
        ((4, 16), [0, 17, 33], "only columns 0..1 of 16"),
        ((1,), [0], "the only element"),
    ],
)
def test_pattern_of_places(shape, wrong, words):
    rng = np.random.default_rng(1)
    a = rng.integers(1, 100, int(np.prod(shape))).astype(np.int32)
    b = a.copy()
    b[list(wrong)] += rng.integers(1, 9, len(list(wrong))).astype(np.int32) * 3
    found = difference("y", shape, a, b)
    assert found is not None
    assert words in found.pattern


def test_pattern_of_values():
    a = np.array([3, -5, 7, 9, 11, 13], np.int32)
    assert "sign reversed" in difference("y", (6,), a, -a).pattern
    assert "always -1" in difference("y", (6,), a, a - 1).pattern
    assert (
        "multiples of 256"
        in difference("y", (6,), a, a + np.array([256, 0, 512, 256, 0, 256], np.int32)).pattern
    )
    assert "moved by 1" in difference("y", (6,), a, np.roll(a, 1)).pattern
    f = np.array([1.5, -2.0, 3.25], np.float32)
    assert "sign reversed" in difference("y", (3,), f, -f).pattern


def test_largest_difference_is_told():
    a = np.zeros(5, np.int32)
    found = difference("y", (5,), a, np.array([1, 0, -7, 2, 0], np.int32))
    assert found is not None
    assert (found.distance, found.largest) == (1, -7)
    assert "largest difference -7" in count_text(found)


def test_texts_have_both_notations():
    found = difference("y", (1,), np.array([-116], np.int8), np.array([-115], np.int8))
    assert found is not None
    assert first_text(found) == "y[0]: expected -116 (0x8C), got -115 (0x8D), difference +1"
    assert decimal(0x3DCCCCCD, "float32") == "0.1"
    assert decimal(0xFFFFFFFF, "int32") == "-1"
