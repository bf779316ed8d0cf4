"""The firmware's own division and square root against this machine's, correctly rounded by IEEE-754."""

from __future__ import annotations

import ctypes
import zlib
from pathlib import Path

import numpy as np
import pytest

from tests.firmware.host_library import build, call

CORNER_WORDS = """
    00000000 00000001 00000002 00000003 007FFFFF 00800000 00800001 00FFFFFF 00400000 3F800000 3F7FFFFF
    3F800001 7F7FFFFF 7F800000 7FC00000 7F800001 42FE0000 7EFFFFFF 0D800000 7F000000
"""
CORNERS = np.array([int(word, 16) for word in CORNER_WORDS.split()], np.uint32)


@pytest.fixture(scope="module")
def firmware(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return build(Path(tmp_path_factory.mktemp("host")) / "firmware.so")


def canonical(x: np.ndarray) -> np.ndarray:
    """Bit patterns with every NaN as 0x7FC00000."""
    return np.where(np.isnan(x), np.uint32(0x7FC00000), x.view(np.uint32))


def same_quotients(firmware: ctypes.CDLL, a: np.ndarray, b: np.ndarray) -> None:
    y = np.empty(len(a), np.float32)
    call(firmware, "div_array", a, b, y, len(a))
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(canonical(y), canonical(a / b))


def signed(bits: np.ndarray) -> np.ndarray:
    return np.concatenate([bits, bits | np.uint32(0x80000000)]).view(np.float32)


def test_division_corners(firmware: ctypes.CDLL) -> None:
    values = signed(CORNERS)
    a, b = np.meshgrid(values, values)
    same_quotients(firmware, a.reshape(-1).copy(), b.reshape(-1).copy())


@pytest.mark.parametrize("mask", [0xFFFFFFFF, 0x80FFFFFF, 0x3FFFFFFF])
@pytest.mark.parametrize("side", ["a", "b"])
def test_division_random(firmware: ctypes.CDLL, mask: int, side: str) -> None:
    """All exponents; then one side subnormal or small; then quotients that are subnormal or huge."""
    rng = np.random.default_rng(zlib.crc32(f"{mask}{side}".encode()))
    words = rng.integers(0, 2**32, (2, 1_000_000), dtype=np.uint32)
    words["ab".index(side)] &= np.uint32(mask)
    same_quotients(firmware, words[0].view(np.float32), words[1].view(np.float32))


def test_division_near_ties(firmware: ctypes.CDLL) -> None:
    """Quotients of neighbouring significands lie closest to the half-way points."""
    rng = np.random.default_rng(3)
    b = rng.integers(0x3F800000, 0x40000000, 1_000_000, dtype=np.uint32)
    a = b + rng.integers(-40, 41, len(b)).astype(np.uint32)
    same_quotients(firmware, a.view(np.float32), b.view(np.float32))


def same_roots(firmware: ctypes.CDLL, bits: np.ndarray) -> None:
    x, y = bits.view(np.float32), np.empty(len(bits), np.float32)
    call(firmware, "sqrt_array", x, y, len(x))
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(canonical(y), canonical(np.sqrt(x)))


def test_square_root_corners(firmware: ctypes.CDLL) -> None:
    same_roots(firmware, signed(CORNERS).view(np.uint32).copy())


@pytest.mark.parametrize("exponent", [126, 127])
def test_square_root_of_every_significand(firmware: ctypes.CDLL, exponent: int) -> None:
    """Both parities of the exponent, every 23-bit fraction: other exponents only shift the result."""
    same_roots(firmware, np.arange(exponent << 23, (exponent + 1) << 23, dtype=np.uint32))


def test_square_root_of_subnormals(firmware: ctypes.CDLL) -> None:
    same_roots(firmware, np.arange(0, 1 << 23, 7, dtype=np.uint32))
