"""Why a unit asks the dispatcher for another version of itself: ExitReason.JUMP with a detail above it."""

from __future__ import annotations

from enum import IntEnum

from emu.cpu.state import ExitReason

_DETAIL = 8
REASON = (1 << _DETAIL) - 1
"""Mask of the ExitReason in what a unit returns."""


class Leave(IntEnum):
    """What a unit returns for that; PC is where it has to go on."""

    LOOP = ExitReason.JUMP | 1 << _DETAIL
    """A hardware loop that the unit does not know may end in it."""
    CAREFUL = ExitReason.JUMP | 2 << _DETAIL
    """The accesses that PC leads do not lie in memory with one host offset."""
    EXACT = ExitReason.JUMP | 3 << _DETAIL
    """ACCX is too large for pending sums."""
    NAN = ExitReason.JUMP | 5 << _DETAIL
    """A float result is NaN, in a unit that expects numbers."""
    BUSY = ExitReason.JUMP | 4 << _DETAIL
    """The unit has run often; ``exit_detail`` has its address."""
