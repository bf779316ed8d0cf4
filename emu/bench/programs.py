"""The programs of firmware/bench/: how much memory each needs and how large it is run.

Every one is called as ``checksum = program(work, size, seed, rounds)``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Kind = Literal["scalar", "recursion"]


@dataclass(frozen=True)
class Program:
    """``size``: of its data when it is measured; ``small``: for the stepper, which is slow; ``least`` and
    ``most``: sizes for tests; ``work_bytes``: memory for a size; ``powers``: only powers of two are sizes;
    ``is_classic``: of the usual set to compare engines: CRC, sort, matrix, FFT, search, recursion.
    """

    name: str
    size: int
    small: int
    least: int
    most: int
    work_bytes: Callable[[int], int]
    kind: Kind = "scalar"
    powers: bool = False
    is_classic: bool = False

    @property
    def symbol(self) -> str:
        """The C function."""
        return f"bench_{self.name}"


PROGRAMS = (
    Program("crc32", 4096, 64, 0, 3000, lambda n: 1024 + n, is_classic=True),
    Program("sort", 1000, 16, 0, 400, lambda n: 8 * n, is_classic=True),
    Program("matrix", 24, 4, 0, 16, lambda n: 12 * n * n, is_classic=True),
    Program("fft", 512, 8, 2, 256, lambda n: 12 * n, powers=True, is_classic=True),
    Program("search", 4096, 64, 16, 3000, lambda n: 1024 + n + 16, is_classic=True),
    Program("random", 2048, 32, 0, 1000, lambda n: 1024 + 4 * n),
    Program("gemm", 192, 2, 1, 100, lambda n: 48 * n + 2048),
    Program("softmax", 512, 16, 1, 600, lambda n: 8 * n),
    Program("interpreter", 27, 3, 1, 10_000, lambda n: 128),
    Program("sha256", 1000, 64, 0, 500, lambda n: 416 + n),
    Program("nbody", 24, 3, 0, 12, lambda n: 28 * n),
    Program("sieve", 4096, 64, 16, 3000, lambda n: n),
    Program("huffman", 1000, 32, 0, 400, lambda n: 1344 + 3 * n),
    Program("queens", 8, 4, 1, 7, lambda n: 4),
    Program("format", 40, 1, 0, 20, lambda n: 96 * n + 4),
    Program("fibonacci", 18, 6, 0, 17, lambda n: 4, "recursion", is_classic=True),
    Program("ackermann", 40, 4, 0, 60, lambda n: 4, "recursion", is_classic=True),
)


def program(name: str) -> Program:
    """The program of that name. Raises KeyError."""
    return {p.name: p for p in PROGRAMS}[name]
