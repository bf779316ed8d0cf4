"""Built-in window spill and fill: what the standard window handlers do, without executing them.

The base save area of a frame is the 16 bytes below the stack pointer of the frame that it called (a0..a3);
a4..a7 (call8) or a4..a11 (call12) go to the extra save area, just below the 16 bytes under the stack
pointer of *its* caller, which the frame finds at a1 - 12 (Xtensa ABI, "Stack frames"; Xtensa ISA manual,
Windowed Register Option). Physical registers end up as the handlers leave them, a0 of a spilled frame
included.
"""

from __future__ import annotations

from emu.cpu.machine import Cause
from emu.cpu.memory import Memory
from emu.cpu.state import CpuState

MASK32 = 0xFFFFFFFF

OVERFLOWS = {
    1: Cause.WINDOW_OVERFLOW4,
    2: Cause.WINDOW_OVERFLOW8,
    3: Cause.WINDOW_OVERFLOW12,
}
UNDERFLOWS = {Cause.WINDOW_UNDERFLOW4: 1, Cause.WINDOW_UNDERFLOW8: 2, Cause.WINDOW_UNDERFLOW12: 3}


def occupied_pane(state: CpuState, highest: int) -> int:
    """The nearest pane 1..``highest`` that another frame occupies, 0 when there is none."""
    base, starts = state.WindowBase, state.WindowStart
    for pane in range(1, highest + 1):
        if starts >> ((base + pane) & 15) & 1:
            return pane
    return 0


def overflow_step(state: CpuState, frame: int) -> int:
    """Size (1, 2 or 3 panes) of the frame that starts at window ``frame``:

    distance to the next frame's start.
    """
    starts = state.WindowStart
    if starts >> ((frame + 1) & 15) & 1:
        return 1
    return 2 if starts >> ((frame + 2) & 15) & 1 else 3


def spill(state: CpuState, memory: Memory, frame: int) -> None:
    """Save the frame at window ``frame`` to its stack and mark its registers free. Raises MemoryFault."""
    frame &= 15
    step = overflow_step(state, frame)
    ar, base = state.ar, 4 * frame
    save = ar[(base + 4 * step + 1) & 63]
    memory.store((save - 16) & MASK32, 4, ar[base])
    if step > 1:
        ar[base] = memory.load((ar[base + 1] - 12) & MASK32, 4)
    for i in (1, 2, 3):
        memory.store((save - 16 + 4 * i) & MASK32, 4, ar[base + i])
    for i in range(4, 4 * step):
        memory.store((ar[base] - 16 * step + 4 * (i - 4)) & MASK32, 4, ar[(base + i) & 63])
    state.WindowStart &= ~(1 << frame)


def fill(state: CpuState, memory: Memory, step: int) -> None:
    """Load the caller's frame, ``step`` panes below the current window, from the stack.

    Raises MemoryFault.
    """
    frame = (state.WindowBase - step) & 15
    ar, base = state.ar, 4 * frame
    save = ar[(base + 4 * step + 1) & 63]
    for i in range(4):
        ar[base + i] = memory.load((save - 16 + 4 * i) & MASK32, 4)
    if step > 1:
        extra = memory.load((ar[base + 1] - 12) & MASK32, 4) - 16 * step
        for i in range(4, 4 * step):
            ar[(base + i) & 63] = memory.load((extra + 4 * (i - 4)) & MASK32, 4)
    state.WindowStart |= 1 << frame
