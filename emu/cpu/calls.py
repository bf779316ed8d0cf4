"""Arguments and results of C functions under the windowed ABI (Xtensa ABI, "Argument passing").

The first six 32-bit words go to a2..a7 of the callee (a10..a15 of the caller after call8), the rest to the
caller's stack from its stack pointer upwards. 64-bit values take an even-odd pair, or an 8-byte aligned place
on the stack. Results come in a2..a5. Floats travel in address registers.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from emu.cpu.diagnostics import Diagnostics, Finding
from emu.image.location import Location

REGISTER_WORDS = 6
Argument = int | float | np.generic
"""int and up to 32-bit numpy integers.

one word. np.float32: one word. np.int64, np.uint64, np.float64: two.
"""


class ArgumentError(ValueError):
    """A value that cannot be passed as given."""


@dataclass(frozen=True)
class CallResult:
    """What a call returned: the words a2..a5, executed instructions, what the engine noticed."""

    a2: int
    a3: int
    a4: int
    a5: int
    instructions: int
    diagnostics: Diagnostics = field(default_factory=Diagnostics)
    locate: Callable[[int], Location] = field(default=Location, repr=False, compare=False)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What the engine has noticed since its diagnostics were last cleared, with symbols and lines."""
        return self.diagnostics.findings(self.locate)

    @property
    def s32(self) -> int:
        """A signed 32-bit result."""
        return self.a2 - (1 << 32) if self.a2 >> 31 else self.a2

    @property
    def u64(self) -> int:
        """An unsigned 64-bit result."""
        return self.a3 << 32 | self.a2

    @property
    def s64(self) -> int:
        """A signed 64-bit result."""
        return self.u64 - (1 << 64) if self.u64 >> 63 else self.u64

    @property
    def f32(self) -> np.float32:
        """A float result."""
        return np.uint32(self.a2).view(np.float32)

    @property
    def f64(self) -> np.float64:
        """A double result."""
        return np.uint64(self.u64).view(np.float64)


def argument_words(arguments: Sequence[Argument]) -> tuple[list[int], list[int]]:
    """Words for a2..a7 and words for the stack. Raises ArgumentError that names the argument."""
    words: list[int] = []
    for place, argument in enumerate(arguments, 1):
        value, is_wide = _encode(argument, place)
        if is_wide and len(words) % 2:
            words.append(0)
        words.append(value & 0xFFFFFFFF)
        if is_wide:
            words.append(value >> 32)
    return words[:REGISTER_WORDS], words[REGISTER_WORDS:]


def _encode(argument: Any, place: int) -> tuple[int, bool]:
    """The bits of one argument, and whether it takes two words."""
    if isinstance(argument, (bool, np.bool_)):
        return int(argument), False
    if isinstance(argument, np.float32):
        return int(argument.view(np.uint32)), False
    if isinstance(argument, np.float64):
        return int(argument.view(np.uint64)), True
    if isinstance(argument, np.integer):
        is_wide = argument.dtype.itemsize == 8
        return int(argument) & (1 << (64 if is_wide else 32)) - 1, is_wide
    if isinstance(argument, int):
        if not -(1 << 31) <= argument < 1 << 32:
            raise ArgumentError(
                f"argument {place}: {argument} needs more than 32 bits; pass np.int64 or np.uint64"
            )
        return argument & 0xFFFFFFFF, False
    if isinstance(argument, float):
        raise ArgumentError(f"argument {place}: pass {argument} as np.float32 (float) or np.float64 (double)")
    raise ArgumentError(f"argument {place}: a {type(argument).__name__} cannot be passed in registers")


def pack_words(words: Sequence[int]) -> bytes:
    """Words as they lie in memory."""
    return struct.pack(f"<{len(words)}I", *words)
