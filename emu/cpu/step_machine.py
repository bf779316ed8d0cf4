"""The processor as one instruction sees it, on Python integers; :mod:`emu.cpu.stepper` drives it.

Sources are read as they were before the instruction; writes to registers and states are collected and applied
by the stepper when the instruction's function has returned.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import cast

from emu.cpu.diagnostics import Check, Diagnostics, count
from emu.cpu.machine import Cause, Machine, Operands
from emu.cpu.memory import Memory
from emu.cpu.plan import Plan
from emu.cpu.readings import choose
from emu.cpu.state import STATES, CpuState
from emu.cpu.value_int import IntBits, scalar
from emu.cpu.values import Bits, Operand

Write = tuple[str, int, IntBits]
"""A deferred write: register class or state name, index, value."""

Service = Callable[[str, tuple[int, ...]], int]
Access = Callable[[int, int, bool], None]
"""Gets address, size and whether it is a store, before an access of an instruction."""


class Raised(Exception):
    """An instruction left with an exception."""

    def __init__(self, cause: Cause, vaddr: int) -> None:
        super().__init__(cause)
        self.cause = cause
        self.vaddr = vaddr


class StepMachine(Machine):
    """The processor as one instruction sees it; the stepper drives it."""

    def __init__(self, state: CpuState, memory: Memory, diagnostics: Diagnostics) -> None:
        self.state = state
        self.memory = memory
        self.diagnostics = diagnostics
        self.track_fsr = True
        self.fused = True
        self.watch = True
        self.readings: Mapping[str, str] = choose()
        self.run_service: Service | None = None
        self.on_access: Access | None = None
        self.checks = Check.FREE
        """What is noticed."""
        self._saturated_at = -1
        """Instructions executed before the one that was counted last: both halves of QACC may saturate."""
        self.writes: list[Write] = []
        """Collected writes, in program order."""
        self.plan: list[Plan] = []
        """The current instruction, one element."""
        self.target: list[int] = []
        """Address of a taken branch, at most one element."""

    # Attributes of the abstract class, computed from the plan: assigning one per instruction would be slower.
    @property
    def pc(self) -> IntBits:  # type: ignore[override]
        """Address of the instruction."""
        return self.plan[0].pc_value

    @property
    def next_pc(self) -> IntBits:  # type: ignore[override]
        """Address of the instruction behind it."""
        return self.plan[0].next_value

    def const(self, width: int, value: int) -> IntBits:
        """See :meth:`Machine.const`."""
        return IntBits(width, (value & ((1 << width) - 1),))

    def read_state(self, name: str) -> IntBits:
        """See :meth:`Machine.read_state`."""
        width = STATES.get(name)
        if width is None:
            raise AttributeError(f"the processor has no state {name}")
        if name == "CCOUNT":
            return scalar(32, self.state.CCOUNT + self.state.instructions)
        return IntBits(width, (getattr(self.state, name) if width <= 64 else self.state.get(name),))

    def write_state(self, name: str, value: Bits) -> None:
        """See :meth:`Machine.write_state`."""
        if value.width != STATES[name]:
            raise ValueError(f"{value.width} bits written to state {name} of {STATES[name]}")
        self.writes.append((name, 0, cast(IntBits, value)))

    def load(self, bits: int, address: Bits) -> IntBits:
        """See :meth:`Machine.load`."""
        place = cast(IntBits, address).lanes[0]
        if self.on_access is not None:
            self.on_access(place, bits >> 3, False)
        return IntBits(bits, (self.memory.load(place, bits >> 3),))

    def store(self, bits: int, address: Bits, value: Bits) -> None:
        """See :meth:`Machine.store`."""
        if value.width != bits:
            raise ValueError(f"{value.width} bits stored as {bits}")
        place = cast(IntBits, address).lanes[0]
        if self.on_access is not None:
            self.on_access(place, bits >> 3, True)
        self.memory.store(place, bits >> 3, cast(IntBits, value).unsigned())

    def read_ar(self, window_base: Bits, index: int) -> IntBits:
        """See :meth:`Machine.read_ar`."""
        return IntBits(32, (self.state.ar[(cast(IntBits, window_base).lanes[0] * 4 + index) & 63],))

    def write_ar(self, window_base: Bits, index: int, value: Bits) -> None:
        """See :meth:`Machine.write_ar`."""
        place = (cast(IntBits, window_base).lanes[0] * 4 + index) & 63
        self.writes.append(("ar", place, cast(IntBits, value)))

    def branch(self, condition: Bits, target: Bits) -> None:
        """See :meth:`Machine.branch`."""
        if cast(IntBits, condition).lanes[0]:
            self.target.append(cast(IntBits, target).lanes[0])

    def jump(self, target: Bits) -> None:
        """See :meth:`Machine.jump`."""
        self.target.append(cast(IntBits, target).lanes[0])

    def raise_if(self, condition: Bits, cause: Cause, vaddr: Bits | None = None) -> None:
        """See :meth:`Machine.raise_if`."""
        if cast(IntBits, condition).lanes[0]:
            raise Raised(cause, 0 if vaddr is None else cast(IntBits, vaddr).lanes[0])

    def service(self, name: str, *values: Operand) -> IntBits:
        """See :meth:`Machine.service`."""
        numbers = tuple(v if type(v) is int else cast(IntBits, v).unsigned() for v in values)
        return scalar(32, self.run_service(name, numbers) if self.run_service else 0)

    def need_nearest_even(self) -> None:
        """Every rounding mode works here."""

    def reading(self, name: str) -> str:
        """See :meth:`Machine.reading`."""
        return self.readings[name]

    def touch_contested(self, name: str, condition: Bits | None = None) -> None:
        """See :meth:`Machine.touch_contested`."""
        if condition is None or any(cast(IntBits, condition).lanes):
            count(self.diagnostics.contested.setdefault(name, {}), self.plan[0].insn.pc)

    def note_misaligned(self, bits: int, address: Bits) -> None:
        """See :meth:`Machine.note_misaligned`."""
        place, size = cast(IntBits, address).lanes[0], bits // 8
        if place & (size - 1) and Check.MISALIGNED in self.checks:
            self._first(Check.MISALIGNED, f"{size} bytes at {place:#010x}, done at {place & -size:#010x}")
            count(self.diagnostics.misaligned, self.plan[0].insn.pc)

    def note_saturation(self, exact: Bits, clamped: Bits) -> None:
        """See :meth:`Machine.note_saturation`."""
        before, after = cast(IntBits, exact), cast(IntBits, clamped)
        if before.lanes != after.lanes and Check.SATURATION in self.checks:
            lane = next(i for i, old in enumerate(before.lanes) if old != after.lanes[i])
            text = f"lane {lane}: {before.lanes[lane]:#x} becomes {after.lanes[lane]:#x} ({before.lane} bits)"
            self._first(Check.SATURATION, text)
            if self._saturated_at != self.state.instructions:
                count(self.diagnostics.saturated, self.plan[0].insn.pc)
            self._saturated_at = self.state.instructions

    def _first(self, check: Check, text: str) -> None:
        self.diagnostics.first.setdefault((check, self.plan[0].insn.pc), text)


class StepOperands(Operands):
    """Operands of the machine's current instruction, by name."""

    def __init__(self, machine: StepMachine) -> None:
        self._machine = machine
        self._state = machine.state
        self._plan = machine.plan

    def index(self, name: str) -> int:
        """See :meth:`Operands.index`."""
        return self._plan[0].insn.operands[name]

    def read(self, name: str) -> IntBits:
        """See :meth:`Operands.read`."""
        plan, state = self._plan[0], self._state
        place = plan.files.get(name)
        if place is None:
            return plan.consts[name]
        file, index, regs = place
        if file == "ar":
            return IntBits(32, (state.ar[(state.WindowBase * 4 + index) & 63],))
        if file == "qr":
            return IntBits(128, (state.get_q(index),))
        if file == "fr":
            return IntBits(32, (state.f[index],))
        if file == "br":
            return IntBits(regs, (state.br >> index & ((1 << regs) - 1),))
        return IntBits(32, (state.mr[index],))

    def write(self, name: str, value: Bits) -> None:
        """See :meth:`Operands.write`."""
        file, index, regs = self._plan[0].files[name]
        if value.width != _WIDTHS[file] * regs:
            raise ValueError(f"{value.width} bits written to operand {name} of {self._plan[0].insn.mnemonic}")
        if file == "ar":
            index = (self._state.WindowBase * 4 + index) & 63
        self._machine.writes.append((file, index, cast(IntBits, value)))


_WIDTHS = {"ar": 32, "qr": 128, "fr": 32, "br": 1, "mr": 32}
