"""The check values of docs/numerics.md, computed by the firmware's own C source on this machine."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest

from tests.firmware.host_library import build, call


@pytest.fixture(scope="module")
def firmware(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return build(Path(tmp_path_factory.mktemp("host")) / "firmware.so")


def floats(*bits: int) -> np.ndarray:
    return np.array(bits, np.uint32).view(np.float32)


def elementwise(firmware: ctypes.CDLL, symbol: str, x: np.ndarray) -> list[str]:
    y = np.empty(len(x), np.float32)
    call(firmware, symbol, x, y, len(x))
    return hexes(y)


def hexes(y: np.ndarray) -> list[str]:
    return [f"{word:08X}" for word in y.view(np.uint32)]


@pytest.mark.parametrize(
    ("symbol", "x", "expected"),
    [
        ("exp_array", [0, -1, -10, -87, 88], "3F800000 3EBC5C43 383E6E79 00B33380 7EF88275"),
        ("exp_array", [np.nextafter(np.float32(-87), np.float32(-88)), -np.inf], "00000000 00000000"),
        ("exp_array", [89, np.inf], "7EF88275 7EF88275"),
        ("ln_array", [1, 0.5, 0.75, 2.0**-24], "00000000 BF317218 BE934B12 C1851592"),
        ("silu_array", [-3, -0.0], "BE11ADB9 80000000"),
        ("sqrt_array", [-0.0, 0, 4, np.inf, 2.0**-149], "80000000 00000000 40000000 7F800000 1A3504F3"),
    ],
)
def test_elementwise(firmware: ctypes.CDLL, symbol: str, x: list[float], expected: str) -> None:
    assert elementwise(firmware, symbol, np.array(x, np.float32)) == expected.split()


def test_sincos(firmware: ctypes.CDLL) -> None:
    u, sin, cos = np.array([0.1, 0.25, 0.6], np.float32), np.empty(3, np.float32), np.empty(3, np.float32)
    call(firmware, "sincos_turn_array", u, sin, cos, 3)
    assert hexes(sin) == ["3F167917", "3F800000", "BF16791A"]
    assert hexes(cos) == ["3F4F1BBC", "80000000", "BF4F1BBA"]


def test_random(firmware: ctypes.CDLL) -> None:
    mixed = np.empty(1, np.uint32)
    call(firmware, "fmix32_array", np.array([7], np.uint32), mixed, 1)
    assert mixed[0] == 0x18C9AEC4
    for state, expected in ((mixed[0], "BF691357 3F13AE18"), (1, "408C0E51 3EDE7313")):
        normals = np.empty(2, np.float32)
        call(firmware, "normal_array", np.array([state], np.uint32), normals, 2)
        assert hexes(normals) == expected.split()


def test_zero_state_is_replaced(firmware: ctypes.CDLL) -> None:
    state, words = np.zeros(1, np.uint32), np.empty(3, np.uint32)
    call(firmware, "xorshift32_array", state, words, 0)
    assert state[0] == 0x9E3779B9
    call(firmware, "xorshift32_array", state, words, 3)
    assert state[0] == words[2]


def test_odd_count_of_normals_drops_the_last(firmware: ctypes.CDLL) -> None:
    states, normals = [], []
    for count in (3, 4):
        state, y = np.array([5], np.uint32), np.full(5, 9, np.float32)
        call(firmware, "normal_array", state, y, count)
        states.append(state[0])
        normals.append(y)
    assert states[0] == states[1]
    assert hexes(normals[0])[:3] == hexes(normals[1])[:3]
    assert normals[0][3] == 9


@pytest.mark.parametrize(
    ("x", "q", "scale"),
    [
        ([127, 0.5, 1.5, -2.5, -0.5, 63.5], [127, 0, 2, -2, 0, 64], 0x3F800000),
        ([0.5, -0.25, 1e-3, 0.7], [91, -45, 0, 127], 0x3BB49C6C),
        ([3, -1, 1, 0.3], [127, -42, 42, 13], 0x3CC18306),
        ([2.0**-100, -(2.0**-101)], [127, -64], None),
        ([np.float32(2.0**-100) * np.float32(0.99), 0], [0, 0], 0),
    ],
)
def test_row_quantizer(firmware: ctypes.CDLL, x: list[float], q: list[int], scale: int | None) -> None:
    out, scales, n = np.empty(len(x), np.int8), np.empty(1, np.float32), len(x)
    row = np.array(x, np.float32)
    assert call(firmware, "quantize_row_s8", row, n, out, n, scales, 1, n, np.empty(1, np.int32)) == 0
    assert out.tolist() == q
    assert scale is None or scales.view(np.uint32)[0] == scale


def test_contraction_example_rounds_twice(firmware: ctypes.CDLL) -> None:
    """docs/numerics.md section 1: the product rounds to the tie -115.5; the fused form gives -115."""
    row, out = floats(0x400286FF, 0xBFED6A75), np.empty(2, np.int8)
    call(firmware, "quantize_row_s8", row, 2, out, 2, np.empty(1, np.float32), 1, 2, np.empty(1, np.int32))
    assert out.tolist() == [127, -116]


def test_row_that_is_not_finite_ends_the_work(firmware: ctypes.CDLL) -> None:
    x = np.array([[1, 2], [3, np.inf], [5, 6]], np.float32)
    q, scale, bad = np.full((3, 2), 55, np.int8), np.full(3, 55, np.float32), np.full(1, 55, np.int32)
    assert call(firmware, "quantize_row_s8", x, 2, q, 2, scale, 3, 2, bad) == 4
    assert (bad[0], q[1:].tolist(), scale[1:].tolist()) == (1, [[55, 55], [55, 55]], [55, 55])
    assert q[0].tolist() == [64, 127]


def test_static_quantizer(firmware: ctypes.CDLL) -> None:
    x = np.array([np.nan, np.inf, -np.inf, 126.5, -126.5, 127.49, -127.6], np.float32)
    q = np.empty(7, np.int8)
    call(firmware, "quantize_static_s8", x, q, 7, np.float32(1))
    assert q.tolist() == [-127, 127, -127, 126, -126, 127, -127]


@pytest.mark.parametrize(
    ("symbol", "x", "kind", "expected"),
    [
        ("digest_f32", np.array([1, -0.0, np.nan], np.float32), 0, 0x70D8A3A9E31DF17A),
        ("digest_f32", np.array([], np.float32), 0, 0x4E17CF67001B3979),
        ("digest_s8", np.array([-1, 2], np.int8), 1, 0xC87FC85F34022C50),
        ("digest_s8", np.array([2, -1], np.int8), 1, 0x11E4D8E7C615B399),
    ],
)
def test_digest(firmware: ctypes.CDLL, symbol: str, x: np.ndarray, kind: int, expected: int) -> None:
    whole, pieces = np.zeros(1, np.uint64), np.zeros(1, np.uint64)
    call(firmware, symbol, x, len(x), 0, whole)
    call(firmware, "digest_end", len(x), kind, whole)
    assert whole[0] == expected
    for first in reversed(range(len(x))):
        call(firmware, symbol, x[first : first + 1].copy(), 1, first, pieces)
    call(firmware, "digest_end", len(x), kind, pieces)
    assert pieces[0] == expected


def test_ternary_packing(firmware: ctypes.CDLL) -> None:
    """-1 0 +1 +1 0 is A4 55: the first weight in the low bits."""
    w, acc = np.array([0xA4, 0x55], np.uint8), np.empty(1, np.int32)
    for column, weight in enumerate([-1, 0, 1, 1, 0]):
        x = np.zeros(5, np.int8)
        x[column] = 100
        assert call(firmware, "dot_rows_ternary_c", x, 5, 1, w, 5, acc, 1) == 0
        assert acc[0] == 100 * weight


def test_int4_packing(firmware: ctypes.CDLL) -> None:
    """7 -3 1 -7 0 5 -1 3 is D7 91 50 3F: even columns in the low nibble."""
    w, acc = np.array([0xD7, 0x91, 0x50, 0x3F], np.uint8), np.empty(1, np.int32)
    for column, weight in enumerate([7, -3, 1, -7, 0, 5, -1, 3]):
        x = np.zeros(8, np.int8)
        x[column] = 100
        assert call(firmware, "dot_groups_int4_c", x, w, 8, 16, acc) == 0
        assert acc[0] == 100 * weight
