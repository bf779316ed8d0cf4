"""Reported faults that have no other test: requantization, softmax codes, padding, layouts."""

from __future__ import annotations

import numpy as np
import pytest

from emu.kernels import load_all
from emu.kernels.arrays import place
from emu.numerics.requantize import requantize_double, requantize_float_even, requantize_single

KERNELS = load_all()
N = np.int32


def ints(*values):
    return np.array(values, np.int32)


# --- requantization ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("acc", "multiplier", "shift", "double", "single"),
    [
        (7984, 1583594044, -9, 12, 11),
        (585, 1527099593, -6, 7, 7),
        (1, 1 << 30, -1, 1, 0),
        (-2, 1 << 30, -1, -1, 0),
        (0x7FFFFFFF, 0x7FFFFFFF, 0, 2147483646, 2147483646),
        (1610612736, 1610612736, 0, 1207959552, 1207959552),
    ],
)
def test_b006_b023_roundings_of_requantization(acc, multiplier, shift, double, single):
    """B006: two roundings, one, and half to even differ by one. B023: the product has more than 32 bits."""
    assert requantize_double(ints(acc), multiplier, shift).tolist() == [double]
    assert requantize_single(ints(acc), multiplier, shift).tolist() == [single]


def test_b006_half_to_even_of_a_float_product():
    """585 times the ratio of the scales is 6.5 in float32: 6, where both integer ways give 7."""
    scale = np.float32(0.0529612452) * np.float32(0.0240937788) / np.float32(0.1148432791)
    assert requantize_float_even(ints(585), scale).tolist() == [6]


def exact(acc: int, multiplier: int, shift: int) -> tuple[int, int]:
    """(double, single) on Python integers, from the definition in words."""
    left, right = max(shift, 0), max(-shift, 0)
    shifted = ((acc << left) + (1 << 31)) % (1 << 32) - (1 << 31)
    product = shifted * multiplier
    size = (abs(product) + (1 << 30) - (product < 0)) >> 31
    high = min(size if product >= 0 else -size, (1 << 31) - 1)
    rounded = (abs(high) + ((1 << right) >> 1)) >> right
    total = 31 - shift
    once = (acc * multiplier + (1 << (total - 1))) >> total
    return (rounded if high >= 0 else -rounded), max(min(once, (1 << 31) - 1), -(1 << 31))


def test_b006_b023_against_exact_integers():
    """Sums of every size, multipliers of 31 bits, shifts to both sides; extremes and ties among them."""
    rng = np.random.default_rng(6)
    differ = 0
    for _ in range(3000):
        bits = int(rng.integers(1, 32))
        acc = int(rng.integers(-(1 << bits) + 1, 1 << bits)) if rng.random() < 0.9 else -(1 << 31)
        multiplier = int(rng.integers(1 << 30, 1 << 31)) if rng.random() < 0.8 else (1 << 30)
        shift = int(rng.integers(-30, 3))
        found = (
            int(requantize_double(ints(acc), multiplier, shift)[0]),
            int(requantize_single(ints(acc), multiplier, shift)[0]),
        )
        assert found == exact(acc, multiplier, shift), (acc, multiplier, shift)
        differ += found[0] != found[1]
    assert differ > 20


# --- softmax ----------------------------------------------------------------------------------------------
def softmax(*logits: float) -> list[int]:
    x = np.array(logits, np.float32)
    padded = -(-len(x) // 16) * 16
    o, total, bad = np.full(padded, 55, np.int8), np.zeros(1, np.float32), np.zeros(1, np.int32)
    assert KERNELS["softmax_s8"].mirror(x, N(len(x)), N(1), N(len(x)), o, N(padded), total, bad) == 0
    assert not o[len(x) :].any()
    return o[: len(x)].tolist()


def test_b057_differences_are_not_kept_in_8_bits():
    """127 and -128 are 255 apart; kept in int8 the difference is +1 and the small one wins."""
    assert softmax(127, -128) == [127, 0]
    assert softmax(-128, 127) == [0, 127]
    for a in range(-128, 128, 5):
        codes = softmax(*[float(v) for v in (a, -128, 127, a)])
        assert codes[2] == 127
        assert codes[1] == 0
        assert codes[0] == codes[3] == (127 if a == 127 else codes[0])


def test_b036_the_largest_code_is_127_wherever_it_stands():
    """Clipped with the limits of the unsigned type, 1.0 becomes 128 and wraps to -128."""
    for length in (1, 2, 15, 16, 17, 40):
        for at in {0, length // 2, length - 1}:
            logits = np.full(length, -50.0)
            logits[at] = 40
            assert softmax(*logits) == [127 if i == at else 0 for i in range(length)]
    codes = softmax(*np.random.default_rng(36).normal(0, 3, 64))
    assert min(codes) >= 0
    assert max(codes) == 127


# --- padding ----------------------------------------------------------------------------------------------
def conv(x: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    """float32 [height][width] of one channel in, one out, scales 1."""
    height, width = x.shape
    w = np.zeros(16, np.int8)
    w[:9] = kernel.reshape(-1)
    y, one = np.zeros((height, width), np.float32), np.ones(1, np.float32)
    scratch = place(np.zeros(width * (16 + 4 + 12), np.uint8), 0)
    status = KERNELS["conv3x3_f32"].mirror(
        np.ascontiguousarray(x).reshape(-1), N(height), N(width), N(1), N(0), N(0), one[0], place(w, 0),
        N(16), one, np.zeros(1, np.float32), N(1), y.reshape(-1), N(0), N(height), scratch,
    )  # fmt: skip
    assert status == 0
    return y


def test_b039_padding_is_the_code_of_zero():
    """Codes 5, 5 with zero point 3 are 2, 2 here; another code in the padding shows at the border only."""
    row = np.zeros((3, 3), np.int8)
    row[1] = 1
    assert conv(np.array([[2, 2]], np.int8), row).tolist() == [[4, 4]]
    rng = np.random.default_rng(39)
    for height, width in ((1, 1), (1, 5), (4, 1), (3, 4), (6, 7)):
        x = rng.integers(-127, 128, (height, width)).astype(np.int8)
        kernel = rng.integers(-127, 128, (3, 3)).astype(np.int8)
        framed = conv(np.pad(x, 1), kernel)
        assert (conv(x, kernel) == framed[1:-1, 1:-1]).all()


def test_b040_every_pixel_meets_every_tap_at_its_place():
    """A pad copy that starts a row too early or too late moves the picture."""
    for height, width in ((5, 5), (1, 4), (3, 2)):
        for y, x in np.ndindex(height, width):
            picture = np.zeros((height, width), np.int8)
            picture[y, x] = 9
            for ky, kx in np.ndindex(3, 3):
                kernel, want = np.zeros((3, 3), np.int8), np.zeros((height, width))
                kernel[ky, kx] = 1
                if 0 <= y + 1 - ky < height and 0 <= x + 1 - kx < width:
                    want[y + 1 - ky, x + 1 - kx] = 9
                assert (conv(picture, kernel) == want).all(), (y, x, ky, kx)


# --- layouts of codes --------------------------------------------------------------------------------------
def row_of(packed: bytes, cols: int) -> list[int]:
    y = np.zeros(cols, np.float32)
    scale = np.full(-(-cols // 32), 0x3C00, np.uint16)
    KERNELS["int4_row"].mirror(np.frombuffer(packed, np.uint8).copy(), scale, N(cols), N(32), y)
    return [int(v) for v in y]


def test_b058_the_layout_of_a_block_is_columns_in_pairs():
    """Element 0 = -7, element 16 = +7; a split block of excess-8 codes reads as something else."""
    ours = bytearray(16)
    ours[0], ours[8] = 0x09, 0x07
    assert row_of(bytes(ours), 32) == [-7] + [0] * 15 + [7] + [0] * 15
    split = bytes([0xF0]) + bytes([0x88]) * 15
    assert row_of(split, 32)[:4] == [0, -1, -8, -8]


def test_b058_a_file_with_codes_of_another_layout_is_refused():
    """Such blocks are full of code -8, which no model file of ours has: the loader names the tensor."""
    from emu.models.errors import ModelFileError
    from emu.models.modelfile.kinds import Kind
    from emu.models.modelfile.random_weights import random_model
    from emu.models.modelfile.reader import ModelFile
    from emu.models.modelfile.reasons import Reason
    from tests.firmware.hostile_files import Forge

    file = ModelFile(random_model(Kind.TINYLM, 1), "good")
    place_of = list(file.entries).index("l0.qkv.w")
    forge = Forge(file.data.tobytes())
    start = forge.word(forge.entry(place_of) + 64)
    forge.data[start : start + 16] = bytes([0xF0]) + bytes([0x88]) * 15
    forge.seal_tensor(place_of)
    with pytest.raises(ModelFileError, match=r"l0\.qkv\.w") as caught:
        ModelFile(forge.seal(), "split")
    assert caught.value.reason is Reason.CODE_INT4
