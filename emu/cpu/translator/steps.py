"""One decoded instruction as the search for code sees it: where it is, what may follow."""

from __future__ import annotations

from dataclasses import dataclass

from emu.cpu.plan import Plan
from emu.cpu.translator.policy import stepper_reason
from emu.isa.decode import Insn
from emu.isa.semantics import effects
from emu.isa.table import Row

_NO_SUCCESSOR = frozenset({"j", "jx", "ret", "ret.n", "retw", "retw.n"})


@dataclass(slots=True)
class Step:
    """An instruction of a unit. ``following``: addresses at which the unit may go on behind it."""

    insn: Insn
    data: bytes
    float_pair: str
    following: tuple[int, ...]
    literal: int | None = None
    """What ``l32r`` loads, where that is known."""
    _plan: Plan | None = None

    @property
    def plan(self) -> Plan:
        """All that translating it needs; made when asked for, which reloading never does."""
        if self._plan is None:
            self._plan = Plan(self.insn, self.data, self.float_pair)
            self._plan.literal = self.literal
        return self._plan


def make_step(insn: Insn, data: bytes, float_pair: str) -> Step:
    """The step of a decoded instruction; ``float_pair``: see :class:`~emu.cpu.plan.Plan`."""
    goes_on, label = _flow(insn.row)
    following: tuple[int, ...] = (insn.next_pc,) if goes_on else ()
    if label:
        following += (insn.operands[label],)
    return Step(insn, data, float_pair, following)


_FLOWS: dict[int, tuple[bool, str]] = {}


def _flow(row: Row) -> tuple[bool, str]:
    """Whether the unit goes on behind an instruction, and the operand that names another place."""
    known = _FLOWS.get(row.index)
    if known is None:
        known = _FLOWS[row.index] = _flow_of(row)
    return known


def _flow_of(row: Row) -> tuple[bool, str]:
    if stepper_reason(row) or row.mnemonic not in effects():
        return False, ""
    label = next((o.name for o in row.operands if o.kind.cls == "label"), "")
    return row.mnemonic not in _NO_SUCCESSOR, label if row.flow in ("branch", "loop", "jump") else ""
