"""Looks at a loop body before it is translated: which addresses does an iteration touch, how do they move?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import cast

from emu.cpu.machine import Cause, Machine, Operands
from emu.cpu.plan import Plan
from emu.cpu.state import STATES
from emu.cpu.translator.affine import Form, Linear, Relation, Shifted, number, register
from emu.cpu.translator.controls import BranchLoop, Control, HardwareLoop, branch_loop
from emu.cpu.translator.discover import CodeBlock
from emu.cpu.translator.machine import Choices
from emu.cpu.translator.modes import MODE_STATES, Mode
from emu.cpu.translator.policy import stepper_reason
from emu.cpu.values import Bits, Operand


class NotStraight(Exception):
    """The body may end in another way than by falling through."""


@dataclass(frozen=True)
class Access:
    """One load or store of the body, in program order. ``address``: at the start of an iteration, plus 0 to
    ``slack`` bytes more: the index of a table, which is known when the access is made. ``part``: another
    summand and how often it is added.
    """

    is_store: bool
    size: int
    address: Linear
    slack: int = 0
    part: tuple[Shifted, int] | None = None

    @property
    def is_computed(self) -> bool:
        """Only the iteration knows the address."""
        return self.slack > 0 or self.part is not None

    @property
    def registers(self) -> set[int]:
        """Names of all that the address depends on."""
        return {*self.address.terms, *(self.part[0].of.terms if self.part is not None else ())}


@dataclass(frozen=True)
class Body:
    """What a fast version of the loop needs to know.

    ``steps``: how the address registers that accesses use move from one iteration to the next, as a
    constant plus registers that do not change.
    """

    plans: tuple[Plan, ...]
    accesses: tuple[Access, ...]
    steps: Mapping[int, Linear]
    pane: int
    accx_writers: frozenset[str]
    """Mnemonics that change ACCX."""
    control: Control
    booleans: int = 0
    """Mask of the boolean registers that an iteration writes."""

    @property
    def straight(self) -> tuple[Plan, ...]:
        """The instructions without the branch that closes the loop."""
        return self.plans if isinstance(self.control, HardwareLoop) else self.plans[:-1]


def scout(block: CodeBlock, mode: Mode, choices: Choices, is_hardware_loop: bool) -> Body | None:
    """The body of a loop that consists of one block; None when it has no fast version."""
    machine = ScoutMachine(mode, choices)
    try:
        for plan in block.plans if is_hardware_loop else block.plans[:-1]:
            machine.run(plan)
        control = HardwareLoop(block) if is_hardware_loop else branch_at_end(machine, block.plans[-1])
    except NotStraight:
        return None
    accesses = [_settled(machine, access) for access in machine.accesses]
    steps = _steps(machine, accesses)
    if steps is None or control is None or not (accesses or machine.accx_writers):
        return None
    return Body(
        tuple(block.plans),
        tuple(accesses),
        steps,
        max(plan.pane for plan in block.plans),
        frozenset(machine.accx_writers),
        control,
        machine.booleans,
    )


def branch_at_end(machine: ScoutMachine, plan: Plan) -> BranchLoop | None:
    """The control of a loop that ends with this branch."""
    relation = machine.run_branch(plan)
    if relation is None:
        return None
    left, right = (step_of(machine, side) for side in (relation.left, relation.right))
    return None if left is None or right is None else branch_loop(relation, left, right)


def step_of(machine: ScoutMachine, address: Linear) -> Linear | None:
    """How a sum of registers moves from one iteration to the next; None when that is not even."""
    total = Linear()
    for index, count in address.terms.items():
        step = step_of_register(machine, index)
        if step is None:
            return None
        moved = total.plus(step.times(count))
        assert moved is not None
        total = moved
    return total


def step_of_register(machine: ScoutMachine, index: int) -> Linear | None:
    """How a register moves from one iteration to the next; None when that is not even."""
    if index >= FRESH:
        return None
    after = machine.registers[index].linear
    step = None if after is None else after.plus(Linear({index: 1}), -1)
    return None if step is None or any(_moves(machine, other) for other in step.terms) else step


def _settled(machine: ScoutMachine, access: Access) -> Access:
    """The access with those parts of its address as slack that are small, but not known at the start."""
    terms, slack, part = dict(access.address.terms), 0, None
    for name, count in access.address.terms.items():
        if name < FRESH or count <= 0 or access.address.align > 1:
            continue
        most, shifted = machine.bounds.get(name, WIDEST), machine.shifts.get(name)
        if count * most < WIDEST:
            slack += terms.pop(name) * most
        elif shifted is not None and part is None and count < WIDEST:
            part = shifted, terms.pop(name)
    return replace(access, address=replace(access.address, terms=terms), slack=slack, part=part)


def _steps(machine: ScoutMachine, accesses: list[Access]) -> dict[int, Linear] | None:
    """Steps of all registers in addresses; None when one of them moves in an unknown way."""
    used = {index for access in accesses for index in access.registers}
    steps = {}
    for index in used:
        step = step_of_register(machine, index)
        if step is None:
            return None
        steps[index] = step
    return steps


def _moves(machine: ScoutMachine, index: int) -> bool:
    if index >= FRESH:
        return True
    after = machine.registers[index].linear
    return after is None or after != register(index).linear


FRESH = 16
"""Names of values that are not known at the start: numbers from here on."""
WIDEST = 1 << 16
"""Bytes of a table at most."""


class ScoutMachine(Machine):
    """Executes straight code on linear forms. What is not linear gets a name of its own in its register."""

    stops_at_exceptions = True

    def __init__(self, mode: Mode, choices: Choices) -> None:
        self.track_fsr = choices.track_fsr
        self.fused = choices.fused
        self.watch = False
        self.registers = [register(i) for i in range(16)]
        self.accesses: list[Access] = []
        self.bounds: dict[int, int] = {}
        """How large a value without a known beginning is at most, by its name."""
        self.shifts: dict[int, Shifted] = {}
        """Values that are a sum of registers, shifted right, by their names."""
        self.accx_writers: set[str] = set()
        self.booleans = 0
        self._mode = mode
        self._readings = choices.readings
        self._writes: list[tuple[int, Form]] = []
        self._names = FRESH
        self._takes_branch = False
        self._branch_if: Form | None = None
        self.plan: Plan | None = None

    def run(self, plan: Plan) -> None:
        """One instruction."""
        if plan.effect is None or stepper_reason(plan.insn.row) or plan.insn.row.flow or plan.is_entry:
            raise NotStraight
        if plan.coprocessor is not None and not self._mode.coprocessors >> plan.coprocessor & 1:
            raise NotStraight
        self.plan = plan
        self._writes = []
        self.pc, self.next_pc = number(32, plan.insn.pc), number(32, plan.next_pc)
        plan.effect(self, ScoutOperands(self))
        for index, value in self._writes:
            self.registers[index] = self.named(value)

    def run_branch(self, plan: Plan) -> Relation | None:
        """The condition under which a conditional branch is taken, in terms of the start; None if unknown."""
        if plan.effect is None or plan.insn.row.flow != "branch":
            raise NotStraight
        self.plan, self._branch_if = plan, None
        self._takes_branch = True
        self.pc, self.next_pc = number(32, plan.insn.pc), number(32, plan.next_pc)
        plan.effect(self, ScoutOperands(self))
        return self._branch_if.relation if self._branch_if is not None else None

    def forget_registers(self) -> None:
        """Nothing is known of the address registers any more."""
        self.registers = [self.named(Form(32)) for _ in range(16)]

    def named(self, value: Form) -> Form:
        """A word by a name of its own, where it is not known."""
        if value.linear is not None and value.linear.align == 1:
            return value
        self._names += 1
        self.bounds[self._names] = value.most
        if value.shifted is not None:
            self.shifts[self._names] = value.shifted
        return register(self._names)

    def defer(self, index: int, value: Form) -> None:
        """Write an address register after the instruction."""
        self._writes.append((index, value))

    def const(self, width: int, value: int) -> Form:
        """See :meth:`Machine.const`."""
        return number(width, value)

    def read_state(self, name: str) -> Form:
        """See :meth:`Machine.read_state`."""
        return Form(STATES[name])

    def write_state(self, name: str, value: Bits) -> None:
        """See :meth:`Machine.write_state`."""
        if name in MODE_STATES:
            raise NotStraight
        if name == "ACCX" and self.plan is not None:
            self.accx_writers.add(self.plan.insn.mnemonic)

    def load(self, bits: int, address: Bits) -> Form:
        """See :meth:`Machine.load`."""
        if self.plan is not None and self.plan.literal is not None:
            return number(bits, self.plan.literal)
        self._access(False, bits, address)
        return Form(bits)

    def store(self, bits: int, address: Bits, value: Bits) -> None:
        """See :meth:`Machine.store`."""
        self._access(True, bits, address)

    def _access(self, is_store: bool, bits: int, address: Bits) -> None:
        linear = cast(Form, address).linear
        if linear is None:
            self._names += 1
            linear = Linear({self._names: 1})
        self.accesses.append(Access(is_store, bits // 8, linear))

    def raise_if(self, condition: Bits, cause: Cause, vaddr: Bits | None = None) -> None:
        """See :meth:`Machine.raise_if`."""
        if self.stops_at_exceptions:
            raise NotStraight

    def read_ar(self, window_base: Bits, index: int) -> Form:
        """See :meth:`Machine.read_ar`."""
        raise NotStraight

    def write_ar(self, window_base: Bits, index: int, value: Bits) -> None:
        """See :meth:`Machine.write_ar`."""
        raise NotStraight

    def branch(self, condition: Bits, target: Bits) -> None:
        """See :meth:`Machine.branch`."""
        if not self._takes_branch:
            raise NotStraight
        self._branch_if = cast(Form, condition)

    def jump(self, target: Bits) -> None:
        """See :meth:`Machine.jump`."""
        raise NotStraight

    def service(self, name: str, *values: Operand) -> Form:
        """See :meth:`Machine.service`."""
        raise NotStraight

    def need_nearest_even(self) -> None:
        """See :meth:`Machine.need_nearest_even`."""
        if self._mode.rounding:
            raise NotStraight

    def reading(self, name: str) -> str:
        """See :meth:`Machine.reading`."""
        return self._readings[name]

    def touch_contested(self, name: str, condition: Bits | None = None) -> None:
        """Nothing to do."""

    def note_misaligned(self, bits: int, address: Bits) -> None:
        """Nothing to do."""

    def note_saturation(self, exact: Bits, clamped: Bits) -> None:
        """Nothing to do."""


_WIDTHS = {"ar": 32, "qr": 128, "fr": 32, "br": 1, "mr": 32}


class ScoutOperands(Operands):
    """Operands of the scout's current instruction."""

    def __init__(self, machine: ScoutMachine) -> None:
        self._machine = machine
        self._plan = cast(Plan, machine.plan)

    def index(self, name: str) -> int:
        """See :meth:`Operands.index`."""
        return self._plan.insn.operands[name]

    def read(self, name: str) -> Form:
        """See :meth:`Operands.read`."""
        place = self._plan.files.get(name)
        if place is None:
            return number(32, self._plan.insn.operands[name])
        file, index, regs = place
        return self._machine.registers[index] if file == "ar" else Form(_WIDTHS[file] * regs)

    def write(self, name: str, value: Bits) -> None:
        """See :meth:`Operands.write`."""
        file, index, regs = self._plan.files[name]
        if file == "ar":
            self._machine.defer(index, cast(Form, value))
        elif file == "br":
            self._machine.booleans |= (1 << regs) - 1 << index
