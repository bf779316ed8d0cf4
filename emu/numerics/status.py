"""Status codes that kernels return, and the column limit (docs/numerics.md sections 1 and 9)."""

from enum import IntEnum


class Status(IntEnum):
    """What a kernel returns; the numbers are those of ``enum emu_status`` in emu_kernels.h."""

    OK = 0
    BAD_ARGUMENT = 1
    TOO_MANY_COLUMNS = 2
    MISALIGNED = 3
    NOT_FINITE = 4
    BAD_MODEL = 5
    OUT_OF_MEMORY = 6


MAX_COLUMNS = 133_144
"""Largest number of columns for which an int8 dot product with |q| <= 127 fits int32."""
