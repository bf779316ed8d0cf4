"""The machine that instruction semantics act on while a unit is translated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Protocol, cast

from emu.cpu.machine import Cause, Machine, Operands
from emu.cpu.plan import Plan
from emu.cpu.state import STATES, ExitReason
from emu.cpu.translator import access
from emu.cpu.translator.checks import Checks
from emu.cpu.translator.frame import Frame
from emu.cpu.translator.modes import Mode
from emu.cpu.value_ir import IrBits, scalar
from emu.cpu.values import Bits, Operand


class LeaveToStepper(Exception):
    """The instruction cannot be translated: the unit ends before it."""


@dataclass(frozen=True)
class Choices:
    """What the engine was told and what changes the code: see EngineOptions."""

    fused: bool
    track_fsr: bool
    vectors: bool
    checks: Checks
    readings: Mapping[str, str]

    def text(self) -> str:
        """All choices in one line, the same in every process."""
        readings = sorted(self.readings.items())
        flags = (self.fused, self.track_fsr, self.vectors, self.checks)
        return f"{flags} {readings}"

    @property
    def has_helpers(self) -> bool:
        """True when windows are spilled and filled by native helpers."""
        return not self.vectors


@dataclass
class Effects:
    """What one instruction wants done once its sources have been read."""

    writes: list[tuple[tuple[str, int], IrBits]] = field(default_factory=list)
    foreign: list[tuple[IrBits, int, IrBits]] = field(default_factory=list)
    """Registers of another window: (window base, register, value)."""
    branch: tuple[IrBits, IrBits] | None = None
    """(condition, target)"""
    jump: IrBits | None = None
    actions: list[Callable[[], None]] = field(default_factory=list)
    """Other changes, made before the writes."""
    has_stored: bool = False


class Places(Protocol):
    """Knows accesses that need no check of their own, and makes the stores among them."""

    def place(self, is_store: bool, size: int, address: IrBits) -> access.Place | None:
        """Where the next access of the instruction goes; None when it has to be checked."""

    def put(self, place: access.Place, value: IrBits) -> None:
        """Store to such a place."""


class Numbers(Protocol):
    """Sees to it that float results are numbers; see numbers.py."""

    def number(self, result: IrBits, operands: Sequence[IrBits]) -> IrBits:
        """The result, which is NaN where an operand is; what follows may take it for a number."""


class IrMachine(Machine):
    """One instruction at a time; :meth:`begin` starts one, :attr:`effects` collects what it does."""

    def __init__(
        self, frame: Frame, mode: Mode, choices: Choices, blocks: Mapping[str, Callable[..., Any]]
    ) -> None:
        self.frame = frame
        self.em = frame.em
        self.fused = choices.fused
        self.track_fsr = choices.track_fsr
        self.watch = False
        self.readings = choices.readings
        self.blocks = MappingProxyType(dict(blocks))  # type: ignore[misc]
        self.mode = mode
        self.effects = Effects()
        self.plan: Plan | None = None
        self.raises_nothing = False
        """Set where it has been tested that the instruction raises no exception."""
        self.places: Places | None = None
        """Knows accesses that need no check of their own."""
        self.numbers: Numbers | None = None
        """Sees to it that float results are numbers; None where they may be NaN."""
        self._constants = mode.values()

    def begin(self, plan: Plan) -> None:
        """Start an instruction."""
        self.plan = plan
        self.frame.exact_pc = str(plan.insn.pc)
        self.frame.access_number = 0
        self.frame.base_register = _base_register(plan)
        self.effects = Effects()
        self.pc = self.const(32, plan.insn.pc)
        self.next_pc = self.const(32, plan.next_pc)

    def const(self, width: int, value: int) -> IrBits:
        """See :meth:`Machine.const`."""
        return scalar(self.em, width, value)

    def read_state(self, name: str) -> IrBits:
        """See :meth:`Machine.read_state`."""
        if name not in STATES:
            raise AttributeError(f"the processor has no state {name}")
        known = self._constants.get(name)
        return self.frame.read((name, 0)) if known is None else self.const(STATES[name], known)

    def write_state(self, name: str, value: Bits) -> None:
        """See :meth:`Machine.write_state`."""
        if value.width != STATES[name]:
            raise ValueError(f"{value.width} bits written to state {name} of {STATES[name]}")
        if name in self._constants:
            raise LeaveToStepper
        self.effects.writes.append(((name, 0), cast(IrBits, value)))

    def load(self, bits: int, address: Bits) -> IrBits:
        """See :meth:`Machine.load`."""
        if self.plan is not None and self.plan.literal is not None:
            return self.const(bits, self.plan.literal)
        if self.places is not None:
            place = self.places.place(False, bits // 8, cast(IrBits, address))
            if place is not None:
                return access.get(self.frame, place, bits)
        return access.load(self.frame, bits, cast(IrBits, address))

    def store(self, bits: int, address: Bits, value: Bits) -> None:
        """See :meth:`Machine.store`."""
        if value.width != bits:
            raise ValueError(f"{value.width} bits stored as {bits}")
        self.effects.has_stored = True
        if self.places is not None:
            place = self.places.place(True, bits // 8, cast(IrBits, address))
            if place is not None:
                self.places.put(place, cast(IrBits, value))
                return
        access.store(self.frame, bits, cast(IrBits, address), cast(IrBits, value))

    def read_ar(self, window_base: Bits, index: int) -> IrBits:
        """See :meth:`Machine.read_ar`."""
        if window_base is not self.read_state("WindowBase"):
            raise LeaveToStepper
        return self.frame.read(("ar", index))

    def write_ar(self, window_base: Bits, index: int, value: Bits) -> None:
        """See :meth:`Machine.write_ar`."""
        self.effects.foreign.append((cast(IrBits, window_base), index, cast(IrBits, value)))

    def branch(self, condition: Bits, target: Bits) -> None:
        """See :meth:`Machine.branch`."""
        self.effects.branch = (cast(IrBits, condition), cast(IrBits, target))

    def jump(self, target: Bits) -> None:
        """See :meth:`Machine.jump`."""
        self.effects.jump = cast(IrBits, target)

    def raise_if(self, condition: Bits, cause: Cause, vaddr: Bits | None = None) -> None:
        """See :meth:`Machine.raise_if`: the stepper executes the instruction again and raises."""
        if self.effects.has_stored:
            raise AssertionError("an exception after a store")
        if self.raises_nothing:
            return
        test = cast(IrBits, condition)
        if test.value == 1:
            raise LeaveToStepper
        if test.value is None:
            self.frame.exit_unless((~test).name, self.frame.exact_pc, ExitReason.STEP)

    def service(self, name: str, *values: Operand) -> IrBits:
        """See :meth:`Machine.service`: all of them belong to the stepper."""
        raise LeaveToStepper

    def need_nearest_even(self) -> None:
        """See :meth:`Machine.need_nearest_even`."""
        if self.mode.rounding:
            raise LeaveToStepper

    def reading(self, name: str) -> str:
        """See :meth:`Machine.reading`."""
        return self.readings[name]

    def touch_contested(self, name: str, condition: Bits | None = None) -> None:
        """Not noticed in translated code."""

    def note_misaligned(self, bits: int, address: Bits) -> None:
        """Not noticed in translated code."""

    def note_saturation(self, exact: Bits, clamped: Bits) -> None:
        """Not noticed in translated code."""


def _base_register(plan: Plan) -> int:
    """The register that an instruction's accesses go through, 0 where none is named."""
    for name in ("as", "s"):
        file, index, _ = plan.files.get(name, ("", 0, 0))
        if file == "ar":
            return index
    return 0


class IrOperands(Operands):
    """Operands of the machine's current instruction, by name."""

    def __init__(self, machine: IrMachine) -> None:
        self._machine = machine

    @property
    def _plan(self) -> Plan:
        return cast(Plan, self._machine.plan)

    def index(self, name: str) -> int:
        """See :meth:`Operands.index`."""
        return self._plan.insn.operands[name]

    def read(self, name: str) -> IrBits:
        """See :meth:`Operands.read`."""
        place = self._plan.files.get(name)
        machine = self._machine
        if place is None:
            return machine.const(32, self._plan.insn.operands[name])
        file, index, regs = place
        if file != "br":
            return machine.frame.read((file, index))
        return machine.frame.read(("br", 0)).lshr(index).trunc(regs)

    def write(self, name: str, value: Bits) -> None:
        """See :meth:`Operands.write`."""
        file, index, regs = self._plan.files[name]
        if value.width != _WIDTHS[file] * regs:
            raise ValueError(f"{value.width} bits written to operand {name} of {self._plan.insn.mnemonic}")
        new = cast(IrBits, value)
        if file == "br" and regs < _BOOLEANS:
            self._machine.effects.writes.append((("br", index), new))
        else:
            self._machine.effects.writes.append(((file, index), new))


_WIDTHS = {"ar": 32, "qr": 128, "fr": 32, "br": 1, "mr": 32}
_BOOLEANS = 16


def apply_write(frame: Frame, key: tuple[str, int], value: IrBits) -> None:
    """One deferred write of a register or state."""
    file, index = key
    if file == "br":
        whole = frame.read(("br", 0))
        mask = ((1 << value.width) - 1) << index
        value = (whole & ~mask) | value.split(value.width).zext(_BOOLEANS).shl(index)
        key = ("br", 0)
    frame.write(key, value.split(value.width))
