"""Operands that make trouble, and random ones."""

from __future__ import annotations

import random

SPECIAL = (
    0x00000000, 0x80000000, 0x3F800000, 0xBF800000, 0x3F800001, 0x3F7FFFFF, 0x40000000, 0xC0490FDB,
    0x3EAAAAAB,
    0x7F7FFFFF, 0xFF7FFFFF, 0x00800000, 0x80800000, 0x007FFFFF, 0x00000001, 0x80000001, 0x00800001,
    0x33800000,
    0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC12345, 0x7F800001, 0xFFA0BEEF, 0x7FFFFFFF, 0x4B000001,
    0x7E800000,
)  # fmt: skip
"""Zeros, ones and neighbours, the ends of normal and subnormal numbers, infinities, quiet and signalling
NaNs.
"""


def random_float(rng: random.Random) -> int:
    """Any pattern, with the exponents near each other half of the time, and special values often."""
    kind = rng.randrange(4)
    if kind == 0:
        return rng.choice(SPECIAL)
    if kind == 1:
        return rng.getrandbits(32)
    exponent = rng.randrange(118, 136) if kind == 2 else rng.choice((0, 1, 2, 23, 24, 25, 64, 190, 253, 254))
    fraction = rng.choice((rng.getrandbits(23), 0, 1, 0x7FFFFF, 0x400000, 0x3FFFFF, 1 << rng.randrange(23)))
    return rng.getrandbits(1) << 31 | exponent << 23 | fraction
