"""Running in slices: a tier runs until its budget is used up, and the engine decides what that budget is.

``state.budget`` is what may run before the engine looks again; the rest of the caller's budget is kept here.
Whoever needs the engine's attention before the next instruction (an interrupt that may have become possible,
a hook that stops the run) cuts the slice: both tiers then return at exactly this instruction.
"""

from __future__ import annotations

import ctypes

from emu.cpu.state import CpuState


class Slice:
    """The budget of one core, split into what runs now and what is kept."""

    def __init__(self, state: CpuState) -> None:
        self.state = state
        self.is_open = False
        self.clock: ctypes.c_int64 | None = None
        """For native devices: instructions so far and budget together, which stays the same in a slice."""
        self._kept = 0

    @property
    def is_last(self) -> bool:
        """Nothing is left for after it: the caller's budget ends here, not an event."""
        return self._kept == 0

    def open(self, limit: int) -> None:
        """Let at most ``limit`` instructions run."""
        state = self.state
        piece = min(state.budget, max(limit, 0))
        self._kept = state.budget - piece
        state.budget = piece
        self.is_open = True
        if self.clock is not None:
            self.clock.value = state.instructions + piece

    def cut(self) -> None:
        """End the slice before the next instruction; no effect outside of a slice."""
        if self.is_open:
            self._kept += self.state.budget
            self.state.budget = 0

    def close(self) -> None:
        """The caller's budget is whole again."""
        self.state.budget += self._kept
        self._kept = 0
        self.is_open = False
