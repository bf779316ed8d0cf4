#!/usr/bin/env python3
"""Compute the tables of emu/numerics/data from their definitions (docs/numerics.md sections 7, 10).

    python tools/make_tables.py            # write the files
    python tools/make_tables.py --check    # compare with freshly computed ones, exit 1 on a difference

Everything is computed in 80-digit decimal arithmetic and rounded once to binary32, so the result does not
depend on a maths library. Each file holds little-endian binary32 numbers and nothing else.
"""

from __future__ import annotations

import argparse
import itertools
import struct
import sys
import zlib
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path

DATA = Path(__file__).resolve().parent.parent / "emu" / "numerics" / "data"
DIGITS = 80
KNOTS = 1024


def pi() -> Decimal:
    """Pi to the precision of the context, by Machin's formula."""

    def arctan_inverse(n: int) -> Decimal:
        term = Decimal(1) / n
        total, k = term, 1
        while abs(term) > Decimal(10) ** -(DIGITS + 5):
            term = -term / (n * n)
            total += term / (2 * k + 1)
            k += 1
        return total

    return 4 * (4 * arctan_inverse(5) - arctan_inverse(239))


def gelu(x: Decimal, sqrt_two_over_pi: Decimal) -> Decimal:
    """0.5 x erfc(-x / sqrt 2), from the Taylor series of erf (its cancellation costs 8 of the 80 digits)."""
    term, total, k = x, x, 0
    while abs(term) > Decimal(10) ** -(DIGITS + 5):
        k += 1
        term = -term * x * x / (2 * k)
        total += term / (2 * k + 1)
    return (x / 2) * (1 + sqrt_two_over_pi * total)


def gelu_values() -> list[Decimal]:
    """GELU at the knots -6 + 12 i / 1023."""
    factor = (2 / pi()).sqrt()
    return [gelu(Decimal(-6) + Decimal(12 * i) / (KNOTS - 1), factor) for i in range(KNOTS)]


def gelu_slopes(values: list[Decimal]) -> list[Decimal]:
    """Differences of neighbouring exact values; 0 after the last."""
    return [b - a for a, b in itertools.pairwise(values)] + [Decimal(0)]


def frequencies(count: int) -> list[Decimal]:
    """10000^(-k/count) / (2 pi), k = 0..count-1: turns per position or per unit of time."""
    two_pi = 2 * pi()
    step = Decimal(10000).ln() / count
    return [(-step * k).exp() / two_pi for k in range(count)]


def round_binary32(value: Decimal) -> int:
    """Bit pattern of the nearest binary32 number, ties to even. Every table entry is normal or zero."""
    exact = abs(Fraction(value))
    sign = 0x80000000 if value < 0 else 0
    if exact == 0:
        return sign
    exponent = exact.numerator.bit_length() - exact.denominator.bit_length()
    if exact < Fraction(2) ** exponent:
        exponent -= 1
    # round() of a Fraction rounds ties to even; a carry lands in the exponent field
    mantissa = round(exact / Fraction(2) ** (exponent - 23))
    return sign | (((exponent + 126) << 23) + mantissa)


def pack(values: list[Decimal]) -> bytes:
    """Round and pack as little-endian binary32."""
    return struct.pack(f"<{len(values)}I", *map(round_binary32, values))


def tables() -> dict[str, bytes]:
    """All files by name."""
    with localcontext() as context:
        context.prec = DIGITS
        values = gelu_values()
        return {
            "gelu_value.f32": pack(values),
            "gelu_slope.f32": pack(gelu_slopes(values)),
            "rope_frequency.f32": pack(frequencies(16)),
            "time_frequency.f32": pack(frequencies(128)),
        }


def write(path: Path, content: bytes) -> bool:
    """Write one table."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return True


def matches(path: Path, content: bytes) -> bool:
    """True when the file on disk is the computed one."""
    return path.is_file() and path.read_bytes() == content


def main() -> int:
    """Entry point; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="compare only, write nothing")
    check = parser.parse_args().check
    action: Callable[[Path, bytes], bool] = matches if check else write
    failed = 0
    for name, content in tables().items():
        good = action(DATA / name, content)
        failed += not good
        verdict = ("same" if good else "DIFFERENT") if check else "written"
        print(f"{name}: {len(content) // 4} numbers, CRC-32 0x{zlib.crc32(content):08X}, {verdict}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
