"""Stages: named tensors of a run, told one after the other to whoever taps them."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable
from typing import Final

import numpy as np

from emu.kernels import digests
from emu.numerics.types import AnyArray

Tap = Callable[[str, AnyArray], None]
"""Called with a stage's name and its array, which is valid during the call only."""

_DIGESTS: Final = {
    "float32": (digests.digest_f32, 0),
    "int8": (digests.digest_s8, 1),
    "uint8": (digests.digest_u8, 2),
    "int32": (digests.digest_s32, 3),
}


def stage_digest(values: AnyArray) -> int:
    """The 64-bit digest of a stage of float32, int8, uint8 or int32 (docs/numerics.md section 11)."""
    function, kind = _DIGESTS[values.dtype.name]
    total = np.zeros(1, np.uint64)
    flat = np.ascontiguousarray(values).reshape(-1)
    function(flat, np.int32(flat.size), np.uint32(0), total)
    digests.digest_end(np.uint32(flat.size), np.uint32(kind), total)
    return int(total[0])


class Digests:
    """A tap that keeps the digest of every stage, in order."""

    def __init__(self) -> None:
        self.values: dict[str, int] = {}

    def __call__(self, name: str, values: AnyArray) -> None:
        """Digest one stage."""
        self.values[name] = stage_digest(values)


class Recorder:
    """A tap that keeps copies of the stages whose names match a pattern (``*``, ``?``, ``[...]``)."""

    def __init__(self, patterns: tuple[str, ...]) -> None:
        self.patterns = patterns
        self.stages: dict[str, AnyArray] = {}

    def __call__(self, name: str, values: AnyArray) -> None:
        """Copy the stage when it is wanted."""
        if any(fnmatch.fnmatchcase(name, p) for p in self.patterns):
            self.stages[name] = np.array(values)


def chain(*taps: Tap) -> Tap:
    """One tap that feeds several."""

    def tell(name: str, values: AnyArray) -> None:
        for tap in taps:
            tap(name, values)

    return tell
