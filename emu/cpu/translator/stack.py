"""The frame on the stack: checked once when the unit starts, then accessed as plain host memory.

a1 stays what it is between ``entry``, calls and returns. Where a unit often accesses memory through it at
constant offsets, all of these bytes are checked together where a1 or the page tables may have changed: at the
start of the unit, behind ``entry``, behind each call. LLVM then sees one pointer with constant offsets and
may keep in registers what is stored there.
"""

from __future__ import annotations

from emu.cpu.map import PAGE, PAGE_BITS
from emu.cpu.plan import Plan
from emu.cpu.translator import access
from emu.cpu.translator.discover import Code
from emu.cpu.translator.emitter import TABLE
from emu.cpu.translator.frame import Frame
from emu.cpu.translator.leave import Leave
from emu.cpu.translator.machine import IrMachine, Places
from emu.cpu.translator.scout import Body
from emu.cpu.value_ir import IrBits

_SIZES = {
    **dict.fromkeys(("l8ui", "s8i"), 1),
    **dict.fromkeys(("l16ui", "l16si", "s16i"), 2),
    **dict.fromkeys(("l32i", "l32i.n", "s32i", "s32i.n", "lsi", "ssi"), 4),
}
_A1 = ("ar", 1)
_WIDEST = PAGE // 2
_FRAME = "%stack.frame"


def _offset(plan: Plan) -> int | None:
    """Distance from a1 of the instruction's access, None for other instructions."""
    is_through_a1 = plan.insn.mnemonic in _SIZES and plan.insn.operands["s"] == 1
    return plan.insn.operands["imm"] if is_through_a1 else None


class StackFrame:
    """Writes the checks; gives places to accesses. ``size``: bytes from a1 on, 0 where it does not pay."""

    def __init__(self, frame: Frame, code: Code, has_bounds: bool) -> None:
        """A unit that was left because of its frame (``code.careful``) is made again without this."""
        self._frame = frame
        plans = [step.plan for step in code.steps]
        ends = [o + _SIZES[plan.insn.mnemonic] for plan in plans if (o := _offset(plan)) is not None]
        calls = sum(plan.insn.row.flow == "call" for plan in plans)
        is_fixed = not any(plan.writes_a1 and not plan.is_entry for plan in plans)
        pays = len(ends) > 1 + calls and max(ends) <= _WIDEST
        self.size = max(ends) if pays and is_fixed and not has_bounds and not code.careful else 0
        if self.size:
            frame.em.entry.lines.insert(0, f"{_FRAME} = alloca ptr")

    def check(self, pc: int) -> None:
        """a1 may be new: the frame has to be readable and writable memory with one host offset."""
        if not self.size:
            return
        frame, em = self._frame, self._frame.em
        frame.exact_pc, frame.base_register = str(pc), 1
        address = frame.read(_A1)
        entry = frame.entry(is_store=True)
        delta = access.stretch(frame, access.WRITE, entry, address, self.size, Leave.CAREFUL)
        page = em.value(f"zext i32 {address.lshr(PAGE_BITS).name} to i64")
        at = em.value(f"getelementptr i64, ptr %{access.READ}, i64 {page}")
        readable = em.value(f"load i64, ptr {at}{TABLE}")
        frame.exit_unless(em.value(f"icmp eq i64 {readable}, {delta}"), str(pc), Leave.CAREFUL)
        place = access.place_at(frame, delta, address, 1)
        em.line(f"store ptr {place.pointer}, ptr {_FRAME}")

    def serves(self, plan: Plan) -> bool:
        """The instruction's access needs no check of its own."""
        return bool(self.size) and _offset(plan) is not None

    def serves_all(self, body: Body) -> bool:
        """No access of a loop needs a check of its own: a fast version would gain nothing."""
        through_a1 = (dict(item.address.terms) == {1: 1} for item in body.accesses)
        return bool(self.size and body.accesses) and all(through_a1) and not body.accx_writers

    def place(self, plan: Plan) -> access.Place:
        """Where such an access goes."""
        em = self._frame.em
        base = em.value(f"load ptr, ptr {_FRAME}")
        return access.Place(em.value(f"getelementptr i8, ptr {base}, i64 {_offset(plan)}"), 1)

    def put(self, place: access.Place, value: IrBits) -> None:
        """Store to a place."""
        access.put(self._frame, place, value)


class StackPlaces:
    """Places in the frame for accesses through a1; all others are up to ``others``."""

    def __init__(self, stack: StackFrame, machine: IrMachine, others: Places | None) -> None:
        self._stack = stack
        self._machine = machine
        self._others = others

    def place(self, is_store: bool, size: int, address: IrBits) -> access.Place | None:
        """See :class:`~emu.cpu.translator.machine.Places`."""
        plan = self._machine.plan
        if plan is not None and self._stack.serves(plan):
            return self._stack.place(plan)
        return None if self._others is None else self._others.place(is_store, size, address)

    def put(self, place: access.Place, value: IrBits) -> None:
        """See :class:`~emu.cpu.translator.machine.Places`."""
        self._stack.put(place, value)
