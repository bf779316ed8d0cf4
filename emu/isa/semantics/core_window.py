"""Windowed registers: calls, entry, returns, spill and fill support (ISA manual, Windowed Register Option).

64 physical registers, WindowBase in steps of 4. A check that an operand lies in an occupied pane is the
engine's; what is here are the window exceptions that belong to single instructions.
"""

from __future__ import annotations

from emu.cpu.machine import Cause, Machine, Operands
from emu.cpu.values import Bits
from emu.isa.semantics.registry import semantics

_UNDERFLOWS = {1: Cause.WINDOW_UNDERFLOW4, 2: Cause.WINDOW_UNDERFLOW8, 3: Cause.WINDOW_UNDERFLOW12}


def frame_starts(m: Machine, base: Bits) -> Bits:
    """1 bit: WindowStart of the frame at ``base`` (4 bits)."""
    return m.WindowStart.lshr(base).trunc(1)


def return_address(m: Machine) -> Bits:
    """a0 of the current window."""
    return m.read_ar(m.WindowBase, 0)


# --- calls --------------------------------------------------------------------------------------
@semantics("call4", increment=1)
@semantics("call8", increment=2)
@semantics("call12", increment=3)
def call(m: Machine, o: Operands, increment: int) -> None:
    """a4, a8 or a12 (the implicit operand) becomes the return address with the window step on top."""
    _call(m, o, increment, o.target)


@semantics("callx4", increment=1)
@semantics("callx8", increment=2)
@semantics("callx12", increment=3)
def call_register(m: Machine, o: Operands, increment: int) -> None:
    """As call4 .., to the address in ``as`` (read before the return address is written)."""
    _call(m, o, increment, o.s)


def _call(m: Machine, o: Operands, increment: int, target: Bits) -> None:
    step = m.const(2, increment)
    m.PSCALLINC = step
    o.imm = step.cat(m.next_pc.trunc(30))
    m.jump(target)


@semantics("entry")
def entry(m: Machine, o: Operands) -> None:
    """Move to the callee's window; its ``as`` is the caller's minus the frame size.

    Illegal with s > 3, PS.WOE = 0 or PS.EXCM = 1 (the manual: undefined, may raise).
    """
    m.raise_if(~_windows_on(m) | int(o.index("s") > 3), Cause.ILLEGAL_INSTRUCTION)
    base = m.WindowBase + m.PSCALLINC.zext(4)
    m.WindowBase = base
    m.WindowStart = m.WindowStart | m.const(16, 1).shl(base)
    m.write_ar(base, o.index("s"), o.s - o.imm)


def _windows_on(m: Machine) -> Bits:
    return m.PSWOE & ~m.PSEXCM


# --- returns ------------------------------------------------------------------------------------
@semantics("retw", "retw.n")
def return_windowed(m: Machine, o: Operands) -> None:
    """Back to the window that a0's two top bits name and to the address in its other 30.

    Illegal when the step is 0 or differs from the distance to the caller's frame, where that is still in
    the registers. PS.CALLINC becomes the step: the manual leaves it to the implementation, this core's
    table lists the write.
    """
    a0 = return_address(m)
    step, base, starts = a0.bits(31, 30), m.WindowBase, m.WindowStart
    caller = base - step.zext(4)
    m.raise_if(_bad_step(m, step) | ~_windows_on(m), Cause.ILLEGAL_INSTRUCTION)
    spilled = ~frame_starts(m, caller)
    for number, cause in _UNDERFLOWS.items():
        m.raise_if(spilled & step.eq(number), cause)
    m.WindowStart = starts & ~m.const(16, 1).shl(base)
    m.WindowBase = caller
    m.PSCALLINC = step
    m.jump(m.pc.bits(31, 30).cat(a0.trunc(30)))


def _bad_step(m: Machine, step: Bits) -> Bits:
    """0, or a frame starts at a distance from 1 to 3 and the nearest is not ``step`` away."""
    base = m.WindowBase
    near = [frame_starts(m, base - n) for n in (1, 2, 3)]
    distance = near[0].select(m.const(2, 1), near[1].select(m.const(2, 2), near[2].select(m.const(2, 3), 0)))
    return step.eq(0) | (distance.ne(0) & distance.ne(step))


@semantics("rfwo", restored=0)
@semantics("rfwu", restored=1)
def return_from_window_exception(m: Machine, o: Operands, restored: int) -> None:
    """Leave a spill (clear the frame's WindowStart bit) or fill (set it) handler; the window is PS.OWB
    again.
    """
    bit = m.const(16, 1).shl(m.WindowBase)
    m.WindowStart = m.WindowStart | bit if restored else m.WindowStart & ~bit
    m.WindowBase = m.PSOWB
    m.PSEXCM = m.const(1, 0)
    m.jump(m.EPC1)


@semantics("rotw")
def rotate_window(m: Machine, o: Operands) -> None:
    """WindowBase += imm, -8..7."""
    m.WindowBase = m.WindowBase + o.index("imm")


@semantics("movsp")
def move_stack_pointer(m: Machine, o: Operands) -> None:
    """``at = as``, only while the caller's frame is in the registers: its save area moves with the stack
    pointer.
    """
    base = m.WindowBase
    caller_here = frame_starts(m, base - 1) | frame_starts(m, base - 2) | frame_starts(m, base - 3)
    m.raise_if(~caller_here, Cause.ALLOCA)
    o.t = o.s
