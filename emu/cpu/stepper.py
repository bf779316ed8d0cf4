"""The reference stepper: instruction semantics on Python integers, one instruction at a time.

Sources are read as they were before the instruction; writes to registers, states and PC wait until its
function has returned, so an exception leaves no trace of it. Hardware loops: when an instruction falls
through to LEND, LCOUNT is not 0 and PS.EXCM is 0, LCOUNT is decremented and PC becomes LBEG; a taken branch
to LEND leaves the loop.
"""

from __future__ import annotations

from collections.abc import Callable

from emu.cpu.checker import Checker
from emu.cpu.diagnostics import Check, Diagnostics, count
from emu.cpu.exceptions import double_vector, enter, vector_base, vectors_of
from emu.cpu.hooks import STOP, GuestCall, Hooks
from emu.cpu.interrupts import Interrupts
from emu.cpu.machine import Cause, Machine, Operands
from emu.cpu.memory import Memory, MemoryFault
from emu.cpu.plan import Plan
from emu.cpu.state import CpuState, ExitReason
from emu.cpu.step_machine import Raised, StepMachine, StepOperands, Write
from emu.cpu.trapping import TrapMaker
from emu.cpu.traps import Trap, TrapKind
from emu.cpu.windows import OVERFLOWS, UNDERFLOWS, fill, occupied_pane, overflow_step, spill
from emu.isa.decode import IllegalInstruction, decode
from emu.isa.table import LENGTH_OF_NIBBLE

MASK32 = 0xFFFFFFFF


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
        self.has_debugger = False
        """A debugger is there: break instructions trap, whatever handlers the image has."""
        self.interrupts: Interrupts | None = None
        """Timers and interrupt lines; without them no interrupt is ever taken."""
        self.hooks = Hooks()
        self.guest_call: Callable[[int], GuestCall] | None = None
        """What callbacks of hooks get, by address."""
        self.debug_state: Callable[[str, int], None] | None = None
        """Told of writes to states of the debug option."""
        self.checker: Checker | None = None
        """Checks that look at every instruction."""
        self.is_stopped = False
        """A hook stopped the run in front of the instruction at PC; running on goes past it."""
        self._announced: set[int] = set()
        self._excepted = (0, Cause.ILLEGAL_INSTRUCTION)
        """Where the last exception arose that was not one of a vector without code, and its cause."""
        self._plans: dict[int, Plan] = {}

    def begin(self) -> None:
        """A new call: nothing of an abandoned one is left."""
        self.is_stopped = False
        self._announced.clear()

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
        state, machine = self.state, self.machine
        clock = self.interrupts
        if clock is not None and state.instructions >= clock.due and self.attend():
            return
        is_hooked = state.PC in self.hooks
        if is_hooked and self._serves():
            return
        plan = self._fetch()
        if plan is None:
            return
        is_windowed = plan.pane or plan.is_entry
        if is_windowed and state.WindowStart != 1 << state.WindowBase and self._window_overflow(plan):
            return
        if plan.coprocessor is not None and not state.CPENABLE >> plan.coprocessor & 1:
            self._exception(Cause(Cause.COPROCESSOR0_DISABLED + plan.coprocessor), 0, plan)
            return
        if is_hooked and not self._announce(state.PC):
            return
        machine.writes.clear()
        machine.target.clear()
        machine.plan[:] = (plan,)
        if self.checker is not None:
            self.checker.before(plan)
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
        if plan.is_fused and Check.FUSED in machine.checks:
            count(self.diagnostics.fused, plan.insn.pc)
        elif plan.is_entry:
            self._note_stack(plan.insn.pc)
        following, goes_round = plan.next_pc, False
        if machine.target:
            following = machine.target[0]
        elif following == state.LEND and state.LCOUNT and not state.PSEXCM:
            goes_round = True
            state.LCOUNT -= 1
            following = state.LBEG
        state.PC = following
        if self.checker is not None:
            self.checker.after(plan, goes_round)
        if plan.is_rare or self._announced:
            self._after(plan)

    def _after(self, plan: Plan) -> None:
        """What is seldom to be done behind an instruction."""
        self._announced.discard(plan.insn.pc)
        if plan.may_allow and self.interrupts is not None:
            self.interrupts.changed()
        if self.debug_state is not None and plan.debug_states:
            following, self.state.PC = self.state.PC, plan.insn.pc
            for name in plan.debug_states:
                self.debug_state(name, self.state.get(name))
            self.state.PC = following

    # --- between instructions -----------------------------------------------------------------------------
    def attend(self) -> bool:
        """Look at timers and interrupts; True when no instruction may follow at once.

        Raises Trap when an interrupt is taken that nothing here handles, or when nothing can end a wait.
        """
        clock = self.interrupts
        if clock is None:
            return False
        level = clock.look()
        if level and not self.use_vectors:
            number = clock.request(level)
            raise self.traps.interrupt(level, number)
        if level:
            clock.take(level)
        elif clock.is_waiting:
            if not clock.is_patient:
                raise self.traps.make(TrapKind.SERVICE, "waiti: the core waits, and nothing can wake it")
            clock.changed()
        return bool(level) or clock.is_waiting

    def _serves(self) -> bool:
        """Run the host's function at PC in place of the guest's; False when there is none."""
        state = self.state
        address = state.PC
        hooks = self.hooks.at(address)
        if not hooks[-1].is_served or self.guest_call is None:
            return False
        if not self._announce(address):
            return True
        self._announced.discard(address)
        hooks[-1].hits += 1
        guest = self.guest_call(address)
        result = hooks[-1].callback(guest)
        if address == state.PC:
            guest.give_back(result)  # type: ignore[arg-type]
        state.budget -= 1
        return True

    def _announce(self, address: int) -> bool:
        """Call the hooks of an address once for each execution; False when the run does not go on there."""
        if address in self._announced or self.guest_call is None:
            return True
        self._announced.add(address)
        for hook in self.hooks.at(address):
            if hook.is_served:
                continue
            hook.hits += 1
            self.is_stopped |= hook.callback(self.guest_call(address)) is STOP
        if self.is_stopped:
            if self.interrupts is not None:
                self.interrupts.changed()
            return False
        if address == self.state.PC:
            return True
        self._announced.discard(address)
        self.state.budget -= 1
        return False

    def _note_stack(self, pc: int) -> None:
        if Check.STACK in self.machine.checks:
            self.diagnostics.note_stack(self.state.get_a(1), pc)

    def _apply(self, writes: list[Write]) -> None:
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

    def _note_same_register(self, writes: list[Write]) -> None:
        places = [(file, index) for file, index, _ in writes if file in ("ar", "qr", "fr")]
        if len(set(places)) != len(places) and Check.SAME_REGISTER in self.machine.checks:
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
                if self.checker is not None:
                    self.checker.spilled(frame & 15, overflow_step(state, frame))
                spill(state, self.memory, frame)
                pane = occupied_pane(state, max(plan.pane, state.PSCALLINC if plan.is_entry else 0))
                frame = state.WindowBase + pane
        except MemoryFault as fault:
            raise self.traps.from_fault(fault, plan, "spilling registers of a caller to the stack") from None
        return False

    def _exception(self, cause: Cause, vaddr: int, plan: Plan | None) -> None:
        if self.use_vectors and not (self.has_debugger and cause == Cause.DEBUG_BREAK):
            self._enter(cause, vaddr, plan)
            return
        step = UNDERFLOWS.get(cause, 0)
        if cause == Cause.ALLOCA:
            step = self.state.get_a(0) >> 30
        if not step:
            raise self.traps.from_cause(cause, vaddr, plan)
        try:
            fill(self.state, self.memory, step)
            if self.checker is not None:
                self.checker.filled(step)
        except MemoryFault as fault:
            doing = "filling registers of the caller from the stack"
            raise self.traps.from_fault(fault, plan, doing) from None

    def _enter(self, cause: Cause, vaddr: int, plan: Plan | None, pane: int = 0) -> None:
        # An exception costs a step of the budget: a handler that faults at once would never end the run.
        self.state.budget -= 1
        if plan is not None or self.state.PC not in vectors_of(self.state):
            self._excepted = (int(self.state.PC), cause)
        elif self.state.PSEXCM and double_vector(self.state) == self.state.PC:
            raise self._no_handler()
        enter(self.state, cause, vaddr, pane, plan is not None and plan.length == 2)

    def _no_handler(self) -> Trap:
        """The vector of double exceptions holds no instruction: the processor would go round it for ever."""
        pc, cause = self._excepted
        vector = double_vector(self.state)
        message = (
            f"exception {cause.name} (cause {int(cause)}) at {self.traps.locate(pc)} has no handler: "
            f"no code is at the vectors (VECBASE {vector_base(self.state):#010x}, double exceptions "
            f"{vector:#010x})"
        )
        return self.traps.make(TrapKind.EXCEPTION, message, address=pc)

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
