"""One instruction at a time, with everything that it read, changed and accessed."""

from __future__ import annotations

from dataclasses import dataclass, field

from emu.cpu.engine import RETURN_ADDRESS, Engine
from emu.cpu.memory import MemoryFault
from emu.cpu.plan import Plan
from emu.cpu.state import CpuState
from emu.cpu.traps import Trap
from emu.debug.changes import Change, changes, live_words
from emu.debug.observe import Access, Observer, attach, detach


@dataclass(frozen=True)
class Step:
    """What one step of the stepper did.

    ``number``: instructions executed before it in this run. ``plan``: the instruction, None when there is
    none at ``pc``. ``reads``: values of its register operands before it, by register name, and of the
    states that it reads. ``changes``: without PC. ``event``: why it was not executed, or ''; a window
    exception that enters a handler, or a window that was filled from the stack, comes before the
    instruction itself.
    """

    number: int
    pc: int
    next_pc: int
    plan: Plan | None
    reads: dict[str, int]
    changes: list[Change]
    accesses: list[Access]
    event: str = ""
    trap: Trap | None = field(default=None, compare=False)

    @property
    def loads(self) -> list[Access]:
        """What it loaded, in order."""
        return [a for a in self.accesses if not a.is_store]

    @property
    def stores(self) -> list[Access]:
        """What it stored, in order."""
        return [a for a in self.accesses if a.is_store]


class Recorder:
    """Steps an engine's reference stepper; use it as a context manager, which observes memory meanwhile."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.stepper = engine.stepper
        self.state = engine.state
        self._observer: Observer | None = None
        self._words = live_words(engine.state)
        self._first = engine.state.instructions
        self._plans: dict[int, Plan] = {}

    def __enter__(self) -> Recorder:
        self._observer = attach(self.stepper)
        return self

    def __exit__(self, *_: object) -> None:
        if self._observer is not None:
            detach(self.stepper, self._observer)
            self._observer = None

    @property
    def done(self) -> bool:
        """True when the call has returned or its budget is used up."""
        return bool(self.state.PC == RETURN_ADDRESS or self.state.budget <= 0)

    def step(self) -> Step:
        """Execute one instruction (or enter its exception) and tell what happened; a trap is in the step."""
        state = self.state
        pc, before, executed = state.PC, self._words.copy(), state.instructions
        plan = self._plan(pc)
        reads = reads_of(self.state, plan) if plan is not None else {}
        accesses = self._accesses()
        accesses.clear()
        trap = None
        try:
            self.stepper.step()
        except Trap as caught:
            trap = caught
        return Step(
            executed - self._first,
            pc,
            state.PC,
            plan,
            reads,
            changes(before, self._words),
            list(accesses),
            _event(self.engine, executed, trap),
            trap,
        )

    def skip(self) -> list[Access]:
        """Execute one instruction and tell its accesses only. Raises Trap."""
        accesses = self._accesses()
        accesses.clear()
        self.stepper.step()
        return accesses

    def _plan(self, pc: int) -> Plan | None:
        plan = self._plans.get(pc)
        try:
            if plan is not None and self.stepper.memory.fetch(pc, plan.length) == plan.data:
                return plan
        except MemoryFault:
            return None
        plan = self.stepper.plan_at(pc)
        if plan is not None:
            self._plans[pc] = plan
        return plan

    def _accesses(self) -> list[Access]:
        if self._observer is None:
            raise RuntimeError("the recorder is used outside of its with block")
        return self._observer.accesses


def reads_of(state: CpuState, plan: Plan) -> dict[str, int]:
    """Values of the register operands and states that an instruction is about to read, by name."""
    found = dict[str, int]()
    row = plan.insn.row
    for operand in row.operands + row.implicit:
        if operand.kind.is_register and operand.is_read and operand.name in plan.files:
            found |= _registers(state, *plan.files[operand.name])
    for use in row.states:
        if use.role != "out" and not use.is_interface and use.name not in _QUIET:
            found[use.name] = state.get(use.name)
    return found


_QUIET = frozenset(
    (
        *("PSEXCM", "PSWOE", "PSUM", "PSINTLEVEL", "PSCALLINC", "CPENABLE", "InOCDMode", "PC"),
        *("LCOUNT", "LBEG", "LEND", "WindowBase", "WindowStart"),
    )
)
"""States that most instructions read and nobody wants to see each time."""


def _registers(state: CpuState, file: str, index: int, regs: int) -> dict[str, int]:
    if file == "ar":
        return {f"a{index}": state.get_a(index)}
    if file == "qr":
        return {f"q{index}": state.get_q(index)}
    if file == "fr":
        return {f"f{index}": state.f[index]}
    if file == "br":
        return {f"b{i}": state.br >> i & 1 for i in range(index, index + regs)}
    return {f"m{index}": state.mr[index]}


def _event(engine: Engine, executed: int, trap: Trap | None) -> str:
    if trap is not None:
        return f"trap: {trap.message}"
    if engine.state.instructions != executed:
        return ""
    if engine.options.exceptions == "vectors":
        return "exception: enters its handler"
    return "window filled from the stack; the instruction follows"
