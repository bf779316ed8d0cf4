"""The checks that cost time: they look at every instruction before and behind it (EngineOptions.diagnostics).

Code of exception and interrupt handlers (PS.EXCM set, or PS.INTLEVEL above 0) saves and restores what it does
not own, so registers and the stack are not checked there.
"""

from __future__ import annotations

from typing import Protocol

from emu.cpu.check_frames import FrameCheck
from emu.cpu.check_registers import RegisterCheck
from emu.cpu.diagnostics import Check, Diagnostics
from emu.cpu.map import NOWHERE
from emu.cpu.memory import MemoryFault
from emu.cpu.plan import Plan
from emu.cpu.shadow import BoundsFault
from emu.cpu.state import CpuState
from emu.cpu.windows import overflow_step

SAVE_AREA = 16
"""Bytes below the stack pointer that belong to the caller's registers (Xtensa ABI, "Stack frames")."""
_SPILLS = ("s32e", "l32e")


class Stack(Protocol):
    """A range of guest addresses."""

    @property
    def start(self) -> int:
        """First address."""

    @property
    def end(self) -> int:
        """First address behind it."""


class Checker:
    """Looks over the shoulder of one stepper. ``stack``: where stack pointers belong."""

    def __init__(self, checks: Check, state: CpuState, diagnostics: Diagnostics, stack: Stack) -> None:
        self.checks = checks
        self.state = state
        self.diagnostics = diagnostics
        self.stack = stack
        self.registers = RegisterCheck(state, diagnostics, stack)
        self.frames = FrameCheck(checks, state, diagnostics)
        self._plan: Plan | None = None
        self._freed: tuple[int, int] | None = None
        """Window and panes of the frame that a handler has just saved."""

    def begin(self, arguments: int) -> None:
        """A call begins, with ``arguments`` words in registers."""
        self.registers.begin(arguments)
        self.frames.begin()

    def before(self, plan: Plan) -> None:
        """The instruction is about to be executed (it may still raise an exception)."""
        self._plan = plan
        self._freed = None
        if plan.insn.mnemonic == "rfwo":
            self._freed = (int(self.state.WindowBase), overflow_step(self.state, self.state.WindowBase))
        if plan.is_fused and Check.FUSED in self.checks:
            self._note_operands(plan)
        if Check.REGISTERS in self.checks and not self.in_handler:
            self.registers.before(plan)

    def after(self, plan: Plan, went_round: bool) -> None:
        """The instruction was executed; ``went_round``: it ended a hardware loop that goes on."""
        in_handler = self.in_handler
        self.registers.after(plan, in_handler)
        self.frames.after(plan, went_round, in_handler)
        if self._freed is not None:
            self.registers.spilled(*self._freed)
        if Check.STACK in self.checks and plan.writes_a1:
            self._note_stack()

    def spilled(self, frame: int, panes: int) -> None:
        """The frame that starts at window ``frame`` was saved to the stack."""
        self.registers.spilled(frame, panes)

    def filled(self, step: int) -> None:
        """A frame ``step`` panes below the current one was loaded from the stack."""
        self.registers.filled(step)

    @property
    def in_handler(self) -> bool:
        """An exception or interrupt is being handled."""
        return bool(self.state.PSEXCM or self.state.PSINTLEVEL)

    def on_access(self, address: int, size: int, is_store: bool) -> None:
        """An instruction accesses memory: is it below the stack pointer?"""
        if not self.stack.start <= address < self.stack.end or self.in_handler:
            return
        plan = self._plan
        pointer = self.state.get_a(1)
        limit = pointer if is_store else pointer - SAVE_AREA
        if plan is None or address >= limit or plan.insn.mnemonic in _SPILLS:
            return
        what = "store" if is_store else "load"
        where = f"{pointer - address} bytes below the stack pointer {pointer:#010x}"
        self.diagnostics.note(Check.RED_ZONE, plan.insn.pc, f"{what} of {size} bytes {where}")

    def on_bounds(self, fault: BoundsFault, address: int, size: int, access: str) -> None:
        """The permission map would refuse an access (:attr:`emu.cpu.shadow.Shadow.report`)."""
        check = Check.MEMORY if fault.kind == "uninitialised" else Check.BOUNDS
        if check in self.checks:
            text = MemoryFault(fault.kind, access, address, size, fault.address, NOWHERE).sentence()
            self.diagnostics.note(check, self._plan.insn.pc if self._plan else self.state.PC, text)

    def _note_operands(self, plan: Plan) -> None:
        key = (Check.FUSED, plan.insn.pc)
        if key not in self.diagnostics.first:
            f, names = self.state.f, plan.insn.operands
            self.diagnostics.first[key] = ", ".join(f"{n} = f{i} = {f[i]:#010x}" for n, i in names.items())

    def _note_stack(self) -> None:
        now = self.state.get_a(1)
        if self.stack.start <= now < self.stack.end and self._plan is not None:
            self.diagnostics.note_stack(now, self._plan.insn.pc)
