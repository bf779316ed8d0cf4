"""The two lookup tables of the FPU's estimate instructions, as numbers, and how a table is read without
branching.

Both were read off an ESP32-S3 v0.2 and an ESP32 v3.1 by the open project "lightplayer" (all 2**23
significands at 15 combinations of sign and exponent for each of the four instructions; the two chips
agree). An early public version of QEMU's Xtensa FPU carries the first one too, with the same 128 numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

from emu.cpu.machine import Machine
from emu.cpu.values import Bits

RECIPROCAL = (
    127, 125, 123, 121, 119, 117, 116, 114, 112, 110, 109, 107, 105, 104, 102, 100,
    99, 97, 96, 94, 93, 91, 90, 88, 87, 85, 84, 83, 81, 80, 79, 77,
    76, 75, 74, 72, 71, 70, 69, 68, 66, 65, 64, 63, 62, 61, 60, 59,
    58, 57, 56, 55, 54, 53, 52, 51, 50, 49, 48, 47, 46, 45, 44, 43,
    42, 41, 40, 40, 39, 38, 37, 36, 35, 35, 34, 33, 32, 31, 31, 30,
    29, 28, 28, 27, 26, 25, 25, 24, 23, 23, 22, 21, 21, 20, 19, 19,
    18, 17, 17, 16, 15, 15, 14, 14, 13, 12, 12, 11, 11, 10, 9, 9,
    8, 8, 7, 7, 6, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 1,
)  # fmt: skip
"""Fraction bits 22..16 of 1/x by fraction bits 22..16 of x."""

ROOT_ODD = (
    127, 125, 123, 121, 119, 118, 116, 114, 113, 111, 109, 108, 106, 105, 103, 102,
    100, 99, 97, 96, 95, 93, 92, 91, 90, 88, 87, 86, 85, 84, 83, 82,
    80, 79, 78, 77, 76, 75, 74, 73, 72, 71, 70, 70, 69, 68, 67, 66,
    65, 64, 63, 63, 62, 61, 60, 59, 59, 58, 57, 56, 56, 55, 54, 53,
)  # fmt: skip
"""Fraction bits 22..16 of 1/sqrt(x) by fraction bits 22..17 of x, for odd biased exponents."""

ROOT_EVEN = (
    52, 51, 50, 48, 47, 46, 44, 43, 42, 41, 40, 39, 38, 37, 35, 34,
    33, 32, 31, 30, 30, 29, 28, 27, 26, 25, 24, 23, 23, 22, 21, 20,
    19, 19, 18, 17, 16, 16, 15, 14, 14, 13, 12, 12, 11, 10, 10, 9,
    9, 8, 7, 7, 6, 6, 5, 4, 4, 3, 3, 2, 2, 1, 1, 0,
)  # fmt: skip
"""The same for even biased exponents."""

ROOT = ROOT_EVEN + ROOT_ODD
"""Both, by parity of the exponent on top of the 6 fraction bits."""


def look_up(m: Machine, table: Sequence[int], index: Bits) -> Bits:
    """``table[index]`` as 8 bits; ``index`` has 7 bits, the table 128 entries below 256.

    Eight entries make a word; the upper index bits choose the word, the lower three shift it.
    """
    words = [
        m.const(64, sum(entry << 8 * place for place, entry in enumerate(table[at : at + 8])))
        for at in range(0, 128, 8)
    ]
    for bit in range(3, 7):
        upper = index.bits(bit, bit)
        words = [upper.select(high, low) for low, high in zip(words[::2], words[1::2], strict=True)]
    return words[0].lshr(index.bits(2, 0).zext(8).shl(3)).trunc(8)
