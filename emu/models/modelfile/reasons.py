"""Why a model file is refused: the numbers of ``enum emu_model_fault`` in emu_models.h."""

from __future__ import annotations

from enum import IntEnum


class Reason(IntEnum):
    """One kind of refusal each, in the order in which a loader looks for them (docs/models.md section 4)."""

    OK = 0
    TOO_SHORT = 1
    MAGIC = 2
    VERSION = 3
    KIND = 4
    SPEC_VERSION = 5
    COUNT = 6
    HEADER_LENGTH = 7
    FILE_LENGTH = 8
    TRUNCATED = 9
    TRAILING = 10
    HEADER_CRC = 11
    PARAMETER = 12
    HEADER_PADDING = 13
    NAME = 14
    UNKNOWN = 15
    DUPLICATE = 16
    DTYPE = 17
    SHAPE = 18
    GROUP = 19
    ROW_BYTES = 20
    LENGTH = 21
    OFFSET = 22
    OVERLAP = 23
    GAP = 24
    BEYOND_END = 25
    ENTRY_PADDING = 26
    MISSING = 27
    GAP_BYTES = 28
    CRC = 29
    TABLE_CRC = 30
    NOT_FINITE = 31
    NEGATIVE_SCALE = 32
    CODE_S8 = 33
    CODE_INT4 = 34
    CODE_TERNARY = 35
    PADDING = 36
    WORDS = 37
