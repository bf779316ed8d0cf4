"""Bit patterns of floats for tests: turning points, their neighbours, and random ones over all exponents."""

from __future__ import annotations

import random
import struct

from hypothesis import strategies as st

from tests.numerics.softfloat import INF, MAGNITUDE, is_finite

SMALL = [0x00000000, 0x00000001, 0x007FFFFF, 0x00800000, 0x0D800000, 0x3727C5AC, 0x358637BD]
TIES = [0x3EFFFFFF, 0x3F000000, 0x3F3504F3, 0x3F7FFFFF, 0x3F800000, 0x3FB504F3, 0x3FC00000, 0x40200000]
TURNS = [0x40C00000, 0x42AE0000, 0x42B00000, 0x42FDFFFF, 0x42FE0000, 0x42FF0000, 0x43000000]
LARGE = [0x4A7FFFFF, 0x4A800000, 0x4B000000, 0x4B400000, 0x4F000000, 0x7F7FFFFF, INF, 0x7F800001, 0x7FC00000]
POINTS = [*SMALL, *TIES, *TURNS, *LARGE]
EDGES = sorted({(p + d) & MAGNITUDE | s for p in POINTS for d in (-1, 0, 1) for s in (0, 0x80000000)})

any_float = st.one_of(st.sampled_from(EDGES), st.integers(0, 0xFFFFFFFF))
finite_float = any_float.filter(is_finite)


def near(low: float, high: float) -> st.SearchStrategy[int]:
    """Patterns of floats in [low, high]."""
    return st.floats(low, high, width=32).map(pattern)


def pattern(x: float) -> int:
    return struct.unpack("<I", struct.pack("<f", x))[0]


def bulk(count: int, seed: int, low: int = 0, high: int = 0xFFFFFFFF) -> list[int]:
    """Random patterns low..high after the edges that lie in that range."""
    rng = random.Random(seed)
    return [e for e in EDGES if low <= e <= high] + [rng.randint(low, high) for _ in range(count)]


def everyday(count: int, seed: int, size: float) -> list[int]:
    """Patterns of numbers spread evenly over -size..size."""
    rng = random.Random(seed)
    return [pattern(rng.uniform(-size, size)) for _ in range(count)]
