"""What goes wrong with boards, on request: brown-out, watchdogs, panics, silence, a pulled cable.

    brownout@2s      2 s of emulated time after the power came on
    panic@500ms      reset@1s  watchdog@3s  taskwdt@5s  hang@1s  unplug@2s

Texts are those of ESP-IDF's panic handler and brown-out interrupt (ESP-IDF, "Fatal Errors", "Watchdogs").
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from emu.board.chip import CPU_HZ, Reset
from emu.board.settings import BoardError
from emu.cpu.exceptions import packed_ps
from emu.cpu.state import CpuState
from emu.cpu.traps import Location

if TYPE_CHECKING:
    from emu.board.board import Board

_FORM = re.compile(r"([a-z]+)(?:@([0-9]+(?:\.[0-9]+)?)(ms|s))?\Z")
BROWNOUT_TEXT = "\r\nBrownout detector was triggered\r\n\r\n"
TASK_WATCHDOG_TEXT = (
    "E (5312) task_wdt: Task watchdog got triggered. "
    "The following tasks/users did not reset the watchdog in time:\r\n"
    "E (5312) task_wdt:  - IDLE0 (CPU 0)\r\n"
    "E (5312) task_wdt: Tasks currently running:\r\n"
    "E (5312) task_wdt: CPU 0: main\r\n"
    "E (5312) task_wdt: CPU 1: IDLE1\r\n"
    "E (5312) task_wdt: Print CPU 0 (current core) backtrace\r\n\r\n\r\n"
)


@dataclass(frozen=True)
class Fault:
    """``kind``: a name of KINDS; ``seconds``: of emulated time since the last reset, 0 for at once."""

    kind: str
    seconds: float = 0.0


def parse_fault(text: str) -> Fault:
    """A fault of ``kind``, ``kind@2s`` or ``kind@500ms``. Raises BoardError."""
    found = _FORM.match(text.strip())
    if found is None or found[1] not in KINDS:
        raise BoardError(f"fault {text!r}: one of {', '.join(KINDS)}, with a time like @2s or @500ms")
    scale = 0.001 if found[3] == "ms" else 1.0
    return Fault(found[1], float(found[2] or 0) * scale)


def arrange(board: Board, fault: Fault) -> None:
    """Let it happen; on the board's thread."""
    action = KINDS[fault.kind]
    if fault.seconds:
        cycle = board.machine.now() + int(fault.seconds * CPU_HZ)
        board.machine.call_at(cycle, lambda: board.interrupt(lambda: action(board)))
    else:
        action(board)


def _brownout(board: Board) -> None:
    board.say(BROWNOUT_TEXT)
    board.restart(Reset.BROWN_OUT)


def _panic(board: Board) -> None:
    state = board.machine.cores[0].engine.state
    board.say(panic_text(state, board.machine.cores[0].engine.traps.backtrace()))
    board.restart(Reset.RTC_SW_CPU)


def _task_watchdog(board: Board) -> None:
    """Only the text: the application goes on."""
    board.say(TASK_WATCHDOG_TEXT)
    state = board.machine.cores[0].engine.state
    board.say(f"\r\nBacktrace:{_trace(state, board.machine.cores[0].engine.traps.backtrace())}\r\n\r\n")


def panic_text(state: CpuState, callers: list[Location], reason: str = "LoadProhibited") -> str:
    """What the panic handler prints of the processor as it stands."""
    values = {"PC": state.PC, "PS": packed_ps(state)}
    values |= {f"A{i}": state.get_a(i) for i in range(16)}
    values |= {"SAR": state.SAR, "EXCCAUSE": 28, "EXCVADDR": 0}
    values |= {"LBEG": state.LBEG, "LEND": state.LEND, "LCOUNT": state.LCOUNT}
    items = [f"{name:<8}: {value:#010x}  " for name, value in values.items()]
    rows = "".join("".join(items[i : i + 4]) + "\r\n" for i in range(0, len(items), 4))
    return (
        f"Guru Meditation Error: Core  0 panic'ed ({reason}). Exception was unhandled.\r\n\r\n"
        f"Core  0 register dump:\r\n{rows}\r\n\r\n"
        f"Backtrace:{_trace(state, callers)}\r\n\r\n\r\n\r\n\r\nRebooting...\r\n"
    )


def _trace(state: CpuState, callers: list[Location]) -> str:
    pointer = state.get_a(1)
    places = [int(state.PC), *(caller.address for caller in callers[:16])]
    return "".join(f" {place:#010x}:{pointer + 32 * i:#010x}" for i, place in enumerate(places))


KINDS: dict[str, Callable[[Board], None]] = {
    "brownout": _brownout,
    "panic": _panic,
    "taskwdt": _task_watchdog,
    "watchdog": lambda board: board.restart(Reset.TG1WDT_SYS),
    "rtcwdt": lambda board: board.restart(Reset.RTCWDT_RTC),
    "reset": lambda board: board.restart(Reset.POWERON),
    "hang": lambda board: board.halt("a fault was asked for: hang"),
    "unplug": lambda board: board.unplug(),
}
"""What can be asked for."""
