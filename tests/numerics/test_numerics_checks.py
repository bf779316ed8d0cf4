"""Every check value that docs/numerics.md states, on the compiled functions and on the reference."""

from __future__ import annotations

import numpy as np
import pytest

from emu.numerics import activations, constants, digest, exponential, logarithm, random, tables, trigonometry
from emu.numerics.int4 import int4_row_bytes, int4_weights, pack_int4
from emu.numerics.ternary import pack_ternary
from tests.numerics import reference
from tests.numerics.compiled import bits, f32, floats, unary
from tests.numerics.patterns import pattern


def test_constants_of_section_1():
    assert bits(constants.EPS_TERNARY) == pattern(1e-5) == 0x3727C5AC
    assert bits(constants.EPS_NORM) == pattern(1e-6) == 0x358637BD
    one = np.float32(1)
    assert bits(one / np.float32(192)) == 0x3BAAAAAB
    assert bits(one / np.float32(96)) == 0x3C2AAAAB
    assert bits(one / np.sqrt(np.float32(32))) == 0x3E3504F3
    assert bits(one / np.sqrt(np.float32(128))) == 0x3DB504F3
    assert bits(one / np.sqrt(np.float32(2))) == 0x3F3504F3
    assert bits(np.sqrt(np.float32(64))) == pattern(8.0)


EXP = [(0.0, 0x3F800000), (-1.0, 0x3EBC5C43), (-10.0, 0x383E6E79), (-87.0, 0x00B33380), (88.0, 0x7EF88275)]


@pytest.mark.parametrize(("x", "want"), EXP)
def test_exp(x, want):
    assert unary(exponential.exp_f32, pattern(x)) == reference.exp_f32(pattern(x)) == want


def test_exp_largest_relative_error():
    x = np.linspace(-87, 88, 200_001).astype(np.float32)
    got = np.array([exponential.exp_f32(v) for v in x], np.float64)
    error = np.abs(got / np.exp(x.astype(np.float64)) - 1).max()
    assert 1.0e-4 < error < 1.0515e-4


LN = [(1.0, 0x00000000), (0.5, 0xBF317218), (0.75, 0xBE934B12), (2.0**-24, 0xC1851592)]


@pytest.mark.parametrize(("u", "want"), LN)
def test_ln(u, want):
    assert unary(logarithm.ln_f32, pattern(u)) == reference.ln_f32(pattern(u)) == want


SINCOS = [
    (0.1, 0x3F167917, 0x3F4F1BBC),
    (0.25, 0x3F800000, 0x80000000),
    (0.6, 0xBF16791A, 0xBF4F1BBA),
]


@pytest.mark.parametrize(("u", "sin_u", "cos_u"), SINCOS)
def test_sincos(u, sin_u, cos_u):
    got = trigonometry.sincos_turn(f32(pattern(u)))
    assert (bits(got[0]), bits(got[1])) == reference.sincos_turn(pattern(u)) == (sin_u, cos_u)


def test_fmix32_of_7_and_its_first_normals():
    seed = int(random.fmix32(np.uint32(7)))
    assert seed == reference.fmix32(7) == 0x18C9AEC4
    _, z0, z1 = random.normal_pair(np.uint32(seed))
    assert (bits(z0), bits(z1)) == reference.normal_pair(seed)[1:] == (0xBF691357, 0x3F13AE18)


def test_normals_of_state_1():
    _, z0, z1 = random.normal_pair(np.uint32(1))
    assert (bits(z0), bits(z1)) == reference.normal_pair(1)[1:] == (0x408C0E51, 0x3EDE7313)


def test_state_0_is_replaced():
    assert int(random.live_state(np.uint32(0))) == 0x9E3779B9
    assert int(random.live_state(np.uint32(5))) == 5


def test_seeds_1_to_8_without_fmix32_start_far_out():
    sizes = [abs(float(random.normal_pair(np.uint32(seed))[1])) for seed in range(1, 9)]
    assert round(max(sizes), 2) == 4.38
    assert round(min(sizes), 2) == 2.76


def test_nan_payload_would_leak_through_rne():
    assert reference.signed32(0x7FC00000 - 0x4B400000) & 0xFFFFFFFF == 0x34800000
    assert reference.signed32(0xFFC00000 - 0x4B400000) & 0xFFFFFFFF == 0xB4800000


GELU = [(0.0, 0x37663D00), (-3.0, 0xBB84B6A4), (1.0, 0x3F576294)]


@pytest.mark.parametrize(("x", "want"), GELU)
def test_gelu(x, want):
    value, slope = tables.gelu_tables()
    assert bits(activations.gelu(f32(pattern(x)), value, slope)) == want
    words = value.view(np.uint32).tolist(), slope.view(np.uint32).tolist()
    assert reference.gelu(pattern(x), *words) == want


@pytest.mark.parametrize(("x", "want"), [(-3.0, 0xBE11ADB9), (-0.0, 0x80000000)])
def test_silu(x, want):
    assert unary(activations.silu, pattern(x)) == reference.silu(pattern(x)) == want


DIGESTS = [
    ([0x3F800000, 0x80000000, 0x7FC00000], 0, 0x70D8A3A9E31DF17A),
    ([], 0, 0x4E17CF67001B3979),
    ([0xFF, 0x02], 1, 0xC87FC85F34022C50),
    ([0x02, 0xFF], 1, 0x11E4D8E7C615B399),
]


@pytest.mark.parametrize(("words", "kind", "want"), DIGESTS)
def test_digest(words, kind, want):
    assert reference.digest(words, kind) == want
    total = sum(int(digest.mix(np.uint32(i), np.uint32(w))) for i, w in enumerate(words))
    assert (total + int(digest.mix(np.uint32(len(words)), np.uint32(kind)))) % 2**64 == want


def test_ternary_packing():
    assert pack_ternary(np.array([[-1, 0, 1, 1, 0]])).tobytes() == bytes([0xA4, 0x55])


def test_int4_of_eight_weights():
    weights = np.array([[0.90, -0.40, 0.15, -0.85, 0.05, 0.62, -0.11, 0.33]])
    codes, scales = int4_weights(weights, 16)
    assert scales.view(np.uint16).tolist() == [[0x301D]]
    assert codes.tolist() == [[7, -3, 1, -7, 0, 5, -1, 3]]
    assert pack_int4(codes).tobytes() == bytes([0xD7, 0x91, 0x50, 0x3F])
    error = np.abs(weights - codes * scales.astype(np.float64)).max()
    assert f"{error:.4f}" == "0.0556"


def test_int4_ties_and_the_stored_scale():
    codes, scales = int4_weights(np.array([[7, -3.5, 2.5, 1.5]]), 16)
    assert (scales[0, 0], codes.tolist()) == (1, [[7, -4, 2, 2]])
    codes, _ = int4_weights(np.array([[0.7, -0.35, 0.25, -0.15]]), 16)
    assert codes.tolist() == [[7, -4, 3, -2]]
    unrounded = np.rint(np.array([0.7, -0.35, 0.25, -0.15]) / (0.7 / 7))
    assert unrounded.tolist() == [7, -4, 2, -2]


def test_int4_sizes():
    def size(cols: int, group: int) -> int:
        return int4_row_bytes(cols) + 2 * -(-cols // group)

    assert size(128, 32) == 72
    assert round(128 * 4 / 72, 2) == 7.11
    assert (size(256, 64), size(256, 16)) == (136, 160)


def test_column_limit():
    from emu.numerics.status import MAX_COLUMNS

    assert MAX_COLUMNS * 127 * 127 < 2**31 <= (MAX_COLUMNS + 1) * 127 * 127


def test_attention_example_of_section_10():
    """Logits 0, -1, -2: o = 127 47 17, sum 3FC069E5."""
    from emu.numerics.rounding import rne

    r = [np.float32(exponential.exp_f32(np.float32(x))) for x in (0, -1, -2)]
    assert [int(rne(np.float32(v * np.float32(127)))) for v in r] == [127, 47, 17]
    assert bits(r[0] + r[1] + r[2]) == 0x3FC069E5


QUANTIZED_ROWS = [
    ([127, 0.5, 1.5, -2.5, -0.5, 63.5], [127, 0, 2, -2, 0, 64], 0x3F800000),
    ([0.5, -0.25, 1e-3, 0.7], [91, -45, 0, 127], 0x3BB49C6C),
    ([3, -1, 1, 0.3], [127, -42, 42, 13], 0x3CC18306),
    ([2.0**-100, -(2.0**-101)], [127, -64], None),
]


@pytest.mark.parametrize(("row", "q", "scale"), QUANTIZED_ROWS)
def test_quantize_row_reference(row, q, scale):
    got = reference.quantize_row([pattern(x) for x in row])
    assert got is not None
    assert got[0] == q
    assert scale is None or got[1] == scale


def test_quantize_static_check():
    from emu.numerics.quantize import quantize_clamped

    x = floats([0x7FC00000, 0x7F800000, 0xFF800000, *map(pattern, (126.5, -126.5, 127.49, -127.6))])
    want = [-127, 127, -127, 126, -126, 127, -127]
    assert [int(quantize_clamped(v, np.float32(1))) for v in x] == want
    assert [reference.quantize_static(int(b), 0x3F800000) for b in x.view(np.uint32)] == want


INFINITE = [
    ("exp_f32", 0x7EF88275, 0x00000000),
    ("silu", 0x7F800000, 0xFF800000),
    ("gelu", 0x7F800000, 0x00000000),
]


@pytest.mark.parametrize(("name", "at_inf", "at_minus_inf"), INFINITE)
def test_infinities_follow_from_the_formulas(name, at_inf, at_minus_inf):
    functions = {
        "exp_f32": exponential.exp_f32,
        "silu": activations.silu,
        "gelu": lambda x: activations.gelu(x, *tables.gelu_tables()),
    }
    assert unary(functions[name], 0x7F800000) == at_inf
    assert unary(functions[name], 0xFF800000) == at_minus_inf
