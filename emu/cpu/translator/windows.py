"""Register windows in translated code: occupied panes are spilled before their first use, frames refilled
on return.

The check is made once for each pane and path (``window_level``); a spill or fill itself is a call of a
native helper (:mod:`emu.cpu.translator.builtin`), or the stepper's business where the image's own handlers
have to run.
"""

from __future__ import annotations

from emu.cpu.plan import Plan
from emu.cpu.state import ExitReason
from emu.cpu.translator.calls import engine_data
from emu.cpu.translator.cells import Cell
from emu.cpu.translator.emitter import RARELY
from emu.cpu.translator.engine_data import FILL, SPILL
from emu.cpu.translator.frame import Frame
from emu.cpu.value_ir import IrBits, scalar

_START = ("WindowStart", 0)
_BEHIND = 0xE000
"""Panes -1, -2, -3 in the rotated WindowStart."""


def rotated_starts(frame: Frame) -> IrBits:
    """32 bits: bit n is WindowStart of the pane n behind the current one, n = 0..15."""
    starts = frame.read(_START).zext(32)
    base = frame.read(("WindowBase", 0)).zext(32)
    return (starts | starts.shl(16)).lshr(base)


def check_panes(frame: Frame, plan: Plan, level: int, has_helpers: bool) -> int:
    """Free the panes that the instruction touches; gives the panes that are free now.

    ``level``: panes known to be free. ``entry`` also needs those that it steps over.
    """
    if not plan.is_entry and plan.pane <= level:
        return level
    highest = scalar(frame.em, 32, plan.pane)
    if plan.is_entry:
        highest = highest.umax(frame.read(("PSCALLINC", 0)).zext(32))
    is_taken = occupied(frame, highest, level)
    if has_helpers:
        _on(frame, is_taken, SPILL, highest)
    else:
        frame.exit_unless((~is_taken).name, frame.exact_pc, ExitReason.STEP)
    return max(level, plan.pane)


def occupied(frame: Frame, highest: IrBits, level: int) -> IrBits:
    """1 bit: a pane above ``level`` up to ``highest`` (32 bits) belongs to another frame."""
    mask = (scalar(frame.em, 32, 2).shl(highest) - 2) & ~((2 << level) - 2)
    return (rotated_starts(frame) & mask).ne(0)


def refill(frame: Frame) -> None:
    """Before ``retw``: bring the caller's frame back when it is not in the registers."""
    step = frame.read(("ar", 0)).bits(31, 30).zext(32)
    missing = (rotated_starts(frame) & _BEHIND).eq(0) & step.ne(0)
    _on(frame, missing, FILL, step)


def is_plain_return(frame: Frame) -> IrBits:
    """1 bit: the nearest frame behind the current one is the step of a0 away and still in the registers."""
    step = frame.read(("ar", 0)).bits(31, 30).zext(32)
    behind = rotated_starts(frame) & 0xFFFF
    return behind.lshr(scalar(frame.em, 32, 16) - step).eq(1)


def _on(frame: Frame, condition: IrBits, helper: int, argument: IrBits) -> None:
    """Call a helper when the condition holds; it sees and changes the state in memory."""
    em = frame.em
    slow, join = em.new_block("window"), em.new_block("ok")
    em.fork((~condition).name, join, slow, RARELY)
    em.enter(slow)
    frame.late_store()
    function = engine_data(frame, helper)
    result = em.value(f"call i32 {function}(ptr %s, {argument.typed})")
    frame.exit_unless(em.value(f"icmp eq i32 {result}, 0"), frame.exact_pc, ExitReason.STEP)
    frame.late_load(_is_changed, forget=False)
    em.jump(join)
    em.enter(join)
    frame.forget(key for key, cell in frame.cells.items() if _is_changed(cell))


def _is_changed(cell: Cell) -> bool:
    """What a helper may change: WindowStart, and address registers beyond a3."""
    return cell.key == _START or (cell.is_window and cell.key[1] > 3)
