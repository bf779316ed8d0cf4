"""What a unit assumes about slowly changing state, so that it need not test it.

Units are made for one mode. Instructions that change it are left to the stepper, after which the dispatcher
looks at the mode again.
"""

from __future__ import annotations

from dataclasses import dataclass

from emu.cpu.state import CpuState
from emu.cpu.translator.accumulator import is_large

MODE_STATES = ("PSEXCM", "PSWOE", "RoundMode", "CPENABLE")
"""States that are constants inside a unit."""


@dataclass(frozen=True)
class Mode:
    """Values of MODE_STATES; ``exact_accx``: ACCX is clamped by every instruction (see accumulator.py)."""

    excm: int
    woe: int
    rounding: int
    coprocessors: int
    exact_accx: bool = False

    @classmethod
    def of(cls, state: CpuState) -> Mode:
        """The mode that a state is in."""
        return cls(*cls.key_of(state))

    @staticmethod
    def key_of(state: CpuState) -> tuple[int, int, int, int, bool]:
        """The fields of the mode that a state is in."""
        large = is_large(state.ACCX)
        return state.PSEXCM, state.PSWOE, state.RoundMode, state.CPENABLE, large

    @property
    def has_windows(self) -> bool:
        """True when accesses to occupied panes spill them."""
        return bool(self.woe) and not self.excm

    @property
    def has_loops(self) -> bool:
        """True when hardware loops go back at LEND."""
        return not self.excm

    def values(self) -> dict[str, int]:
        """The states by name."""
        states = (self.excm, self.woe, self.rounding, self.coprocessors)
        return dict(zip(MODE_STATES, states, strict=True))
