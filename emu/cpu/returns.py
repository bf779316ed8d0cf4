"""What a function of the windowed ABI must leave as it was, checked when it returns.

The loop registers are not among it: a hardware loop that is skipped (LCOUNT becomes 0xFFFFFFFF) or left by a
branch keeps LCOUNT, and falling through to its LEND needs its own loop instruction again.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter

from emu.cpu.state import CpuState
from emu.cpu.trapping import TrapMaker
from emu.cpu.traps import Trap, TrapKind

_PS = ("PSINTLEVEL", "PSEXCM", "PSUM", "PSWOE")
_FCR = ("RoundMode", "InvalidEnable", "DivZeroEnable", "OverflowEnable", "UnderflowEnable", "InexactEnable")
_KEPT = (*_PS, *_FCR, "CPENABLE", "VECBASE", "THREADPTR")
"""Control that belongs to the whole thread or core: every function after this one depends on it."""
_status = attrgetter(*_KEPT)
_NAMES = {name: f"PS.{name[2:]}" for name in _PS} | {name: f"FCR.{name}" for name in _FCR}


@dataclass(frozen=True)
class Frame:
    """The caller's registers a0..a7 and the control states (_KEPT) at the call."""

    registers: tuple[int, ...]
    status: tuple[int, ...]


def frame_of(state: CpuState) -> Frame:
    """The caller's frame, while its window (0) is the current one."""
    first = 4 * state.WindowBase
    return Frame(tuple(state.ar[first : first + 8]), _status(state))


def check(state: CpuState, before: Frame, traps: TrapMaker, address: int) -> None:
    """Raise a Trap (RETURN_MISMATCH) that names the first thing that the function at ``address`` broke."""
    broken = _broken(state, before)
    if broken:
        function = traps.locate(address)
        name = function.symbol or f"{function.address:#010x}"
        trap = traps.make(TrapKind.RETURN_MISMATCH, f"{name} broke the calling convention: {broken}")
        raise Trap(trap.kind, function, trap.message, trap.context)


def _broken(state: CpuState, before: Frame) -> str:
    if state.WindowBase != 0 or state.WindowStart != 1:
        where = f"WindowBase {state.WindowBase}, WindowStart {state.WindowStart:#06x}, not 0 and 0x0001"
        return f"the register window is not back at the caller ({where})"
    now = frame_of(state)
    for i, (old, new) in enumerate(zip(before.registers, now.registers, strict=True)):
        if old != new:
            return f"a{i} of the caller was {old:#010x} and is {new:#010x}"
    for name, old, new in zip(_KEPT, before.status, now.status, strict=True):
        if old != new:
            return f"{_NAMES.get(name, name)} was {old} and is {new}"
    return ""
