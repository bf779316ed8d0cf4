"""The reference stepper: instruction semantics on Python integers, one instruction at a time.

Sources are read as they were before the instruction; writes to registers, states and PC wait until its
function has returned, so an exception leaves no trace of it. Hardware loops: when an instruction falls
through to LEND, LCOUNT is not 0 and PS.EXCM is 0, LCOUNT is decremented and PC becomes LBEG; a taken branch
to LEND leaves the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import cast

from emu.cpu.diagnostics import Diagnostics, count
from emu.cpu.exceptions import enter
from emu.cpu.machine import Cause, Machine, Operands
from emu.cpu.memory import Memory, MemoryFault
from emu.cpu.plan import Plan
from emu.cpu.readings import choose
from emu.cpu.state import STATES, CpuState, ExitReason
from emu.cpu.trapping import TrapMaker
from emu.cpu.traps import TrapKind
from emu.cpu.value_int import IntBits, scalar
from emu.cpu.values import Bits, Operand
from emu.cpu.windows import OVERFLOWS, UNDERFLOWS, fill, occupied_pane, overflow_step, spill
from emu.isa.decode import IllegalInstruction, decode
from emu.isa.table import LENGTH_OF_NIBBLE

MASK32 = 0xFFFFFFFF
Service = Callable[[str, tuple[int, ...]], int]


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
        self.writes: list[tuple[str, int, IntBits]] = []
        """Deferred (register class or state name, index, value)."""
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
        return IntBits(bits, (self.memory.load(cast(IntBits, address).lanes[0], bits >> 3),))

    def store(self, bits: int, address: Bits, value: Bits) -> None:
        """See :meth:`Machine.store`."""
        if value.width != bits:
            raise ValueError(f"{value.width} bits stored as {bits}")
        self.memory.store(cast(IntBits, address).lanes[0], bits >> 3, cast(IntBits, value).unsigned())

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
        if cast(IntBits, address).lanes[0] & (bits // 8 - 1):
            count(self.diagnostics.misaligned, self.plan[0].insn.pc)

    def note_saturation(self, exact: Bits, clamped: Bits) -> None:
        """See :meth:`Machine.note_saturation`."""
        if cast(IntBits, exact).lanes != cast(IntBits, clamped).lanes:
            count(self.diagnostics.saturated, self.plan[0].insn.pc)


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


class Stepper:
    """Runs the state on the memory, instruction by instruction.

    ``return_address``: PC at which :meth:`run` returns. ``use_vectors``: exceptions enter the image's
    handlers; otherwise windows are spilled and filled here and everything else raises a Trap.
    """

    def __init__(
        self,
        state: CpuState,
        memory: Memory,
        traps: TrapMaker,
        diagnostics: Diagnostics | None = None,
        return_address: int = 0xFFFFFFFF,
        use_vectors: bool = False,
    ) -> None:
        self.state = state
        self.memory = memory
        self.traps = traps
        self.diagnostics = diagnostics or Diagnostics()
        self.machine = StepMachine(state, memory, self.diagnostics)
        self.operands = StepOperands(self.machine)
        self.return_address = return_address
        self.use_vectors = use_vectors
        self._plans: dict[int, Plan] = {}

    def run(self) -> ExitReason:
        """Step until the return address (RETURN) or until the budget is used up (BUDGET). Raises Trap."""
        state, step, end = self.state, self.step, self.return_address
        while end != state.PC:
            if state.budget <= 0:
                return ExitReason.BUDGET
            step()
        return ExitReason.RETURN

    def step(self) -> None:
        """Execute the instruction at PC, or enter its exception. Raises Trap."""
        plan = self._fetch()
        state, machine = self.state, self.machine
        if plan is None:
            return
        is_windowed = plan.pane or plan.is_entry
        if is_windowed and state.WindowStart != 1 << state.WindowBase and self._window_overflow(plan):
            return
        if plan.coprocessor is not None and not state.CPENABLE >> plan.coprocessor & 1:
            self._exception(Cause(Cause.COPROCESSOR0_DISABLED + plan.coprocessor), 0, plan)
            return
        machine.writes.clear()
        machine.target.clear()
        machine.plan[:] = (plan,)
        try:
            self._effect(plan)(machine, self.operands)
        except Raised as raised:
            self._exception(raised.cause, raised.vaddr, plan)
            return
        except MemoryFault as fault:
            self._memory_fault(fault, plan)
            return
        self._retire(plan)

    def _effect(self, plan: Plan) -> Callable[[Machine, Operands], None]:
        if plan.effect is None:
            text = f"no effect is known for {plan.insn.mnemonic}"
            raise self.traps.make(TrapKind.UNIMPLEMENTED, text, plan)
        return plan.effect

    def _retire(self, plan: Plan) -> None:
        """Apply the deferred writes, then move on or around a loop."""
        state, machine = self.state, self.machine
        if machine.writes:
            self._apply(machine.writes)
        state.instructions += 1
        state.budget -= 1
        if plan.is_fused:
            count(self.diagnostics.fused, plan.insn.pc)
        elif plan.is_entry:
            self._note_stack()
        if machine.target:
            state.PC = machine.target[0]
            return
        following = plan.next_pc
        if following == state.LEND and state.LCOUNT and not state.PSEXCM:
            state.LCOUNT -= 1
            following = state.LBEG
        state.PC = following

    def _note_stack(self) -> None:
        lowest, now = self.diagnostics.lowest_stack, self.state.get_a(1)
        if lowest is None or now < lowest:
            self.diagnostics.lowest_stack = now

    def _apply(self, writes: list[tuple[str, int, IntBits]]) -> None:
        state = self.state
        if len(writes) > 1:
            self._note_same_register(writes)
        for file, index, value in writes:
            if file == "ar":
                state.ar[index] = value.lanes[0]
            elif file == "qr":
                state.set_q(index, value.unsigned())
            elif file == "fr":
                state.f[index] = value.lanes[0]
            elif file == "br":
                mask = ((1 << value.width) - 1) << index
                state.br = (state.br & ~mask) | (value.unsigned() << index)
            elif file == "mr":
                state.mr[index] = value.lanes[0]
            elif file == "CCOUNT":
                state.CCOUNT = (value.lanes[0] - state.instructions) & MASK32
            else:
                state.set(file, value.unsigned())

    def _note_same_register(self, writes: list[tuple[str, int, IntBits]]) -> None:
        places = [(file, index) for file, index, _ in writes if file in ("ar", "qr", "fr")]
        if len(set(places)) != len(places):
            count(self.diagnostics.same_register, self.machine.plan[0].insn.pc)

    # --- fetch ------------------------------------------------------------------------------------------
    def _fetch(self) -> Plan | None:
        pc = self.state.PC
        try:
            return self._planned(pc)
        except MemoryFault as fault:
            self._fetch_fault(fault, pc)
        except IllegalInstruction as error:
            self._illegal(error, pc)
        return None

    def _planned(self, pc: int) -> Plan:
        plan = self._plans.get(pc)
        if plan is not None and self.memory.fetch(pc, plan.length) == plan.data:
            return plan
        return self._decode(pc)

    def _decode(self, pc: int) -> Plan:
        first = self.memory.fetch(pc, 1)
        data = first + self._rest(pc, LENGTH_OF_NIBBLE[first[0] & 15] - 1)
        plan = Plan(decode(data, pc), data, self.machine.readings["float_pair_coprocessor"])
        self._plans[pc] = plan
        return plan

    def _rest(self, pc: int, size: int) -> bytes:
        return self.memory.fetch((pc + 1) & MASK32, size)

    @property
    def current(self) -> Plan | None:
        """The instruction that ran last, or is running."""
        return self.machine.plan[0] if self.machine.plan else None

    def plan_at(self, pc: int) -> Plan | None:
        """The decoded instruction at an address, None where there is none."""
        try:
            return self._planned(pc)
        except (MemoryFault, IllegalInstruction):
            return None

    # --- exceptions ----------------------------------------------------------------------------------------
    def _window_overflow(self, plan: Plan) -> bool:
        """Spill, or enter the handler, when a register of the instruction lies in an occupied pane."""
        state = self.state
        if not state.PSWOE or state.PSEXCM:
            return False
        pane = occupied_pane(state, max(plan.pane, state.PSCALLINC if plan.is_entry else 0))
        if not pane:
            return False
        frame = state.WindowBase + pane
        if self.use_vectors:
            self._enter(OVERFLOWS[overflow_step(state, frame)], 0, plan, pane)
            return True
        try:
            while pane:
                spill(state, self.memory, frame)
                pane = occupied_pane(state, max(plan.pane, state.PSCALLINC if plan.is_entry else 0))
                frame = state.WindowBase + pane
        except MemoryFault as fault:
            raise self.traps.from_fault(fault, plan, "spilling registers of a caller to the stack") from None
        return False

    def _exception(self, cause: Cause, vaddr: int, plan: Plan | None) -> None:
        if self.use_vectors:
            self._enter(cause, vaddr, plan)
            return
        step = UNDERFLOWS.get(cause, 0)
        if cause == Cause.ALLOCA:
            step = self.state.get_a(0) >> 30
        if not step:
            raise self.traps.from_cause(cause, vaddr, plan)
        try:
            fill(self.state, self.memory, step)
        except MemoryFault as fault:
            doing = "filling registers of the caller from the stack"
            raise self.traps.from_fault(fault, plan, doing) from None

    def _enter(self, cause: Cause, vaddr: int, plan: Plan | None, pane: int = 0) -> None:
        # An exception costs a step of the budget: a handler that faults at once would never end the run.
        self.state.budget -= 1
        enter(self.state, cause, vaddr, pane, plan is not None and plan.length == 2)

    def _memory_fault(self, fault: MemoryFault, plan: Plan) -> None:
        if not self.use_vectors or fault.kind not in ("unmapped", "protection"):
            raise self.traps.from_fault(fault, plan)
        cause = Cause.STORE_PROHIBITED if fault.access == "store" else Cause.LOAD_PROHIBITED
        self._exception(cause, fault.address, plan)

    def _fetch_fault(self, fault: MemoryFault, pc: int) -> None:
        if not self.use_vectors:
            raise self.traps.not_code(pc, fault)
        self._exception(Cause.FETCH_PROHIBITED, pc, None)

    def _illegal(self, error: IllegalInstruction, pc: int) -> None:
        if not self.use_vectors:
            raise self.traps.illegal(pc, error.data)
        self._exception(Cause.ILLEGAL_INSTRUCTION, 0, None)
