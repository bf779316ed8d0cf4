"""Entering an exception as the chip does:

vector, EPC, EXCCAUSE, PS.EXCM (Xtensa ISA manual, Exception Option).
"""

from __future__ import annotations

from functools import cache

from emu.cpu.machine import Cause
from emu.cpu.state import CpuState
from emu.cpu.windows import UNDERFLOWS
from emu.isa.table import read_csv

_VECTOR_SETTINGS = {
    Cause.WINDOW_OVERFLOW4: "XCHAL_WINDOW_OF4_VECOFS",
    Cause.WINDOW_UNDERFLOW4: "XCHAL_WINDOW_UF4_VECOFS",
    Cause.WINDOW_OVERFLOW8: "XCHAL_WINDOW_OF8_VECOFS",
    Cause.WINDOW_UNDERFLOW8: "XCHAL_WINDOW_UF8_VECOFS",
    Cause.WINDOW_OVERFLOW12: "XCHAL_WINDOW_OF12_VECOFS",
    Cause.WINDOW_UNDERFLOW12: "XCHAL_WINDOW_UF12_VECOFS",
}

MEMORY_CAUSES = frozenset(
    (
        Cause.INSTRUCTION_FETCH_ERROR,
        Cause.LOAD_STORE_ERROR,
        Cause.LOAD_STORE_ALIGNMENT,
        Cause.FETCH_PROHIBITED,
        Cause.LOAD_PROHIBITED,
        Cause.STORE_PROHIBITED,
    )
)
"""Causes that set EXCVADDR."""


@cache
def setting(name: str) -> int:
    """A number of the core configuration. Raises KeyError for an unknown name."""
    for line in read_csv("core-config.csv"):
        if line["name"] == name:
            return int(line["value"], 0)
    raise KeyError(name)


DEBUG_LEVEL = 6
BREAK, BREAK_N = 3, 4
"""Bits of DEBUGCAUSE."""

_GENERAL = ("XCHAL_USER_VECOFS", "XCHAL_KERNEL_VECOFS", "XCHAL_DOUBLEEXC_VECOFS")
_ALL = (*_GENERAL, *_VECTOR_SETTINGS.values())
_PS_PARTS = ("PSWOE", 1), ("PSCALLINC", 2), ("PSOWB", 4), ("PSUM", 1), ("PSEXCM", 1), ("PSINTLEVEL", 4)


def enter(state: CpuState, cause: Cause, vaddr: int, pane: int = 0, is_narrow: bool = False) -> None:
    """Go to the vector of ``cause``; ``pane``: the occupied pane of a window overflow.

    ``is_narrow``: a breakpoint was break.n.
    """
    if cause in _VECTOR_SETTINGS:
        _enter_window(state, cause, pane)
    elif cause == Cause.DEBUG_BREAK:
        state.DEBUGCAUSE = 1 << (BREAK_N if is_narrow else BREAK)
        enter_level(state, DEBUG_LEVEL, "XCHAL_DEBUG_VECOFS")
    else:
        _enter_general(state, cause, vaddr)


def enter_level(state: CpuState, level: int, vector: str) -> None:
    """A high-priority interrupt or debug exception: PC and PS go to EPC and EPS of ``level``."""
    state.set(f"EPC{level}", state.PC)
    state.set(f"EPS{level}", packed_ps(state))
    state.PSINTLEVEL = level
    state.PSEXCM = 1
    state.PC = vector_base(state) + setting(vector)


def packed_ps(state: CpuState) -> int:
    """PS as the 13 bits that EPSn keep: INTLEVEL, EXCM, UM, OWB, CALLINC, WOE from bit 0 upwards."""
    value = 0
    for name, width in _PS_PARTS:
        value = value << width | state.get(name)
    return value


def vector_base(state: CpuState) -> int:
    """VECBASE as an address."""
    return int(state.VECBASE) << 10


def double_vector(state: CpuState) -> int:
    """Where exceptions in exception mode go."""
    return vector_base(state) + setting("XCHAL_DOUBLEEXC_VECOFS")


def vectors_of(state: CpuState) -> frozenset[int]:
    """Addresses of the vectors of exceptions."""
    base = vector_base(state)
    return frozenset(base + setting(name) for name in _ALL)


def _enter_window(state: CpuState, cause: Cause, pane: int) -> None:
    state.EPC1 = state.PC
    state.PSOWB = state.WindowBase
    move = -UNDERFLOWS[cause] if cause in UNDERFLOWS else pane
    state.WindowBase = (state.WindowBase + move) & 15
    state.PSEXCM = 1
    state.PC = vector_base(state) + setting(_VECTOR_SETTINGS[cause])


def _enter_general(state: CpuState, cause: Cause, vaddr: int) -> None:
    if state.PSEXCM:
        state.DEPC = state.PC
        offset = setting("XCHAL_DOUBLEEXC_VECOFS")
    else:
        state.EPC1 = state.PC
        offset = setting("XCHAL_USER_VECOFS" if state.PSUM else "XCHAL_KERNEL_VECOFS")
    state.EXCCAUSE = cause
    if cause in MEMORY_CAUSES:
        state.EXCVADDR = vaddr
    state.PSEXCM = 1
    state.PC = vector_base(state) + offset
