"""What a function finds in its registers when a call has returned, and whose hardware loop ends where.

The register windows keep a caller's registers by construction, unless the stack that they were spilled to is
overwritten: then a return brings back other values, or goes somewhere else.
"""

from __future__ import annotations

from dataclasses import dataclass

from emu.cpu.diagnostics import Check, Diagnostics
from emu.cpu.plan import Plan
from emu.cpu.state import CpuState

DEPTH = 10_000
"""Frames that are remembered; code that never returns (a scheduler) drops the oldest."""


@dataclass(frozen=True)
class Frame:
    """A call. ``kept``: a0.. of the caller that the call must not change; ``back``: where it returns to."""

    serial: int
    entry: int
    back: int
    kept: tuple[int, ...]


class FrameCheck:
    """Follows ``entry`` and ``retw``."""

    def __init__(self, checks: Check, state: CpuState, diagnostics: Diagnostics) -> None:
        self.checks = checks
        self.state = state
        self.diagnostics = diagnostics
        self._frames: list[Frame] = []
        self._serial = 0
        self._loop_owner = 0

    def begin(self) -> None:
        """A call of the host begins."""
        self._frames.clear()

    def after(self, plan: Plan, went_round: bool, in_handler: bool) -> None:
        """An instruction was executed."""
        if plan.is_entry:
            self._entered(plan)
        elif plan.is_return:
            self._returned(plan)
        elif plan.insn.row.flow == "loop":
            self._loop_owner = self._current
        if went_round and self._loop_owner != self._current and not in_handler:
            self._note_loop(plan)

    @property
    def _current(self) -> int:
        return self._frames[-1].serial if self._frames else 0

    def _entered(self, plan: Plan) -> None:
        state = self.state
        step = int(state.PSCALLINC)
        self._serial += 1
        word = state.get_a(0)
        back = (plan.insn.pc & 0xC0000000) | (word & 0x3FFFFFFF)
        kept = self._caller(4 * step, -step)
        self._frames.append(Frame(self._serial, plan.insn.pc, back, kept))
        del self._frames[:-DEPTH]

    def _caller(self, count: int, panes: int) -> tuple[int, ...]:
        base = 4 * (int(self.state.WindowBase) + panes)
        return tuple(self.state.ar[(base + i) & 63] for i in range(count))

    def _returned(self, plan: Plan) -> None:
        """The innermost frame that returns to PC is the one that has returned; longjmp leaves others."""
        frames, pc = self._frames, self.state.PC
        place = next((i for i in range(len(frames), 0, -1) if frames[i - 1].back == pc), 0)
        if not place:
            if frames:
                self._note(plan, f"returned to {pc:#010x}, not to {frames.pop().back:#010x}")
            return
        frame = frames[place - 1]
        is_innermost = place == len(frames)
        del frames[place - 1 :]
        if is_innermost and Check.ABI in self.checks:
            self._compare(plan, frame)

    def _compare(self, plan: Plan, frame: Frame) -> None:
        for index, (old, new) in enumerate(zip(frame.kept, self._caller(len(frame.kept), 0), strict=True)):
            if old != new:
                text = f"a{index} of the caller was {old:#010x} and is {new:#010x}"
                self._note(plan, f"{text} behind the call of {frame.entry:#010x}")
                return

    def _note(self, plan: Plan, text: str) -> None:
        if Check.ABI in self.checks:
            self.diagnostics.note(Check.ABI, plan.insn.pc, text)

    def _note_loop(self, plan: Plan) -> None:
        if Check.LOOPS in self.checks:
            state = self.state
            text = f"LEND {state.LEND:#010x}, back to {state.LBEG:#010x}, LCOUNT {state.LCOUNT:#x}"
            self.diagnostics.note(Check.LOOPS, plan.insn.pc, text)
