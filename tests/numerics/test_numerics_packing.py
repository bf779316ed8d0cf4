"""Ternary and int4 weights: quantization against exact arithmetic, packing, refusals that name the place."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from emu.numerics.int4 import int4_groups, int4_row_bytes, int4_weights, pack_int4, unpack_int4
from emu.numerics.packed import PackedCodeError
from emu.numerics.ternary import pack_ternary, ternary_row_bytes, ternary_weights, unpack_ternary
from tests.numerics import reference

sizes = st.tuples(st.integers(1, 4), st.integers(0, 70))


@st.composite
def matrices(draw, low, high):
    rows, cols = draw(sizes)
    flat = draw(st.lists(st.integers(low, high), min_size=rows * cols, max_size=rows * cols))
    return np.array(flat, np.int64).reshape(rows, cols)


@given(matrices(-1, 1), st.sampled_from([1, 16]))
def test_ternary_round_trip(codes, multiple):
    packed = pack_ternary(codes, ternary_row_bytes(codes.shape[1], multiple))
    assert packed.shape[1] % multiple == 0
    assert [reference.ternary_codes(row.tobytes(), codes.shape[1]) for row in packed] == codes.tolist()
    assert unpack_ternary(packed, codes.shape[1]).tolist() == codes.tolist()
    for row in packed:
        tail = reference.ternary_codes(row.tobytes(), 4 * len(row))[codes.shape[1] :]
        assert not any(tail)


@given(matrices(-7, 7), st.sampled_from([1, 16]))
def test_int4_round_trip(codes, multiple):
    packed = pack_int4(codes, int4_row_bytes(codes.shape[1], multiple))
    assert packed.shape[1] % multiple == 0
    assert [reference.int4_codes(row.tobytes(), codes.shape[1]) for row in packed] == codes.tolist()
    assert unpack_int4(packed, codes.shape[1]).tolist() == codes.tolist()
    for row in packed:
        assert not any(reference.int4_codes(row.tobytes(), 2 * len(row))[codes.shape[1] :])


@given(st.data(), st.integers(1, 3), st.integers(1, 40))
def test_ternary_refuses_the_code_11_by_place(data, rows, cols):
    packed = pack_ternary(np.zeros((rows, cols), int), 16)
    row, col = data.draw(st.integers(0, rows - 1)), data.draw(st.integers(0, cols - 1))
    packed[row, col // 4] |= 3 << 2 * (col % 4)
    with pytest.raises(PackedCodeError, match=rf"^l0\.qkv: row {row}, column {col}: .*11") as caught:
        unpack_ternary(packed, cols, "l0.qkv")
    assert (caught.value.row, caught.value.column) == (row, col)


@given(st.data(), st.integers(1, 3), st.integers(1, 40))
def test_int4_refuses_minus_8_by_place(data, rows, cols):
    packed = pack_int4(np.zeros((rows, cols), int), 32)
    row, col = data.draw(st.integers(0, rows - 1)), data.draw(st.integers(0, cols - 1))
    packed[row, col // 2] |= 8 << 4 * (col % 2)
    with pytest.raises(PackedCodeError, match=rf"^head: row {row}, column {col}: .*-8"):
        unpack_int4(packed, cols, "head")


def test_padding_must_be_neutral():
    with pytest.raises(PackedCodeError, match=r"row 0, column 5: the padding"):
        unpack_ternary(np.array([[0xA4, 0x51]], np.uint8), 5)
    with pytest.raises(PackedCodeError, match=r"row 0, column 3: the padding"):
        unpack_int4(np.array([[0x21, 0x13]], np.uint8), 3)


@pytest.mark.parametrize("bad", [2, -2, 127])
def test_pack_ternary_refuses_other_codes(bad):
    with pytest.raises(PackedCodeError, match="row 1, column 2"):
        pack_ternary(np.array([[0, 0, 0], [0, 1, bad]]))


@pytest.mark.parametrize("bad", [8, -8])
def test_pack_int4_refuses_other_codes(bad):
    with pytest.raises(PackedCodeError, match="row 1, column 2"):
        pack_int4(np.array([[0, 0, 0], [0, 1, bad]]))


def test_rows_that_do_not_fit():
    with pytest.raises(ValueError, match="need 2 bytes a row, not 1"):
        pack_ternary(np.zeros((1, 5), int), 1)
    with pytest.raises(ValueError, match="need 3 bytes a row, not 2"):
        pack_int4(np.zeros((1, 5), int), 2)
    with pytest.raises(ValueError, match="cannot hold 9"):
        unpack_ternary(np.zeros((1, 2), np.uint8), 9)
    with pytest.raises(ValueError, match="cannot hold 9"):
        unpack_int4(np.zeros((1, 2), np.uint8), 9)


weights = st.floats(-100, 100, width=32)


@given(st.lists(weights, min_size=1, max_size=50))
def test_ternary_weights_against_exact_arithmetic(row):
    codes, scale = ternary_weights(np.array([row]))
    mean = sum(map(abs, map(Fraction, row))) / len(row)
    double = max(float(sum(map(abs, map(Fraction, row)))) / len(row), 1e-5)
    assert abs(Fraction(double) - max(mean, Fraction(1e-5))) <= Fraction(double) / 2**51
    assert scale == np.float32(double)
    assert codes.tolist() == [[max(-1, min(1, round(w / double))) for w in row]]


@given(st.lists(weights, min_size=1, max_size=70), st.sampled_from([16, 32]))
def test_int4_weights_against_exact_arithmetic(row, group):
    codes, scales = int4_weights(np.array([row]), group)
    for g in range(int4_groups(len(row), group)):
        part = row[g * group : (g + 1) * group]
        pattern = reference.round_f16(Fraction(max(map(abs, part)) / 7.0))
        assert int(scales[0, g].view(np.uint16)) == pattern
        s = float(np.array(pattern, np.uint16).view(np.float16))
        want = [0 if s == 0 else max(-7, min(7, round(w / s))) for w in part]
        assert codes[0, g * group : (g + 1) * group].tolist() == want


def test_int4_zero_and_subnormal_groups():
    row = np.zeros((1, 48))
    row[0, 16] = 7 * 2.0**-24
    row[0, 32] = 7 * 2.0**-26
    codes, scales = int4_weights(row, 16)
    assert scales.view(np.uint16).tolist() == [[0, 1, 0]]
    assert codes[0, [0, 16, 32]].tolist() == [0, 7, 0]


def test_int4_refuses_an_infinite_scale():
    row = np.zeros((2, 40))
    row[1, 33] = 7 * 65520.0
    with pytest.raises(PackedCodeError, match="down: row 1, column 32: the scale"):
        int4_weights(row, 32, "down")
    row[1, 33] = np.nextafter(7 * 65520.0, 0)
    assert int4_weights(row, 32)[1][1, 1] == 65504


@pytest.mark.parametrize("quantize", [ternary_weights, lambda w, name: int4_weights(w, 32, name)])
def test_not_finite_weights_are_refused(quantize):
    with pytest.raises(PackedCodeError, match=r"fc1: row 0, column 1: .*not finite"):
        quantize(np.array([[1.0, np.nan]]), "fc1")
    with pytest.raises(ValueError, match="fc1: expected a matrix"):
        quantize(np.zeros(3), "fc1")


@pytest.mark.parametrize("group", [0, -16, 8, 24])
def test_int4_group_must_be_a_multiple_of_16(group):
    with pytest.raises(ValueError, match="multiple of 16"):
        int4_weights(np.zeros((1, 16)), group)
