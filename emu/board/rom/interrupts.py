"""Interrupts for code that runs on the ROM's vectors (rom/ets_sys.h): handlers by number, called by the host.

When a level-1 interrupt reaches the ROM's vector, the processor's state is kept aside, the handler runs as an
ordinary function on the interrupted stack, and what it returns to brings the state back.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from emu.board.chip import ROM_START
from emu.board.rom.common import giving, machine
from emu.cpu import state_tools
from emu.cpu.exceptions import setting
from emu.cpu.hooks import GuestCall
from emu.cpu.interrupts import level_mask
from emu.cpu.machine import Cause
from emu.cpu.state import CpuState
from emu.rom.functions import RomCall, RomFunction

if TYPE_CHECKING:
    from emu.board.machine import Core, Machine

RETURN = 0x4000FFE0
"""Where a handler returns to."""
USER, KERNEL, DOUBLE = (
    ROM_START + setting(name)
    for name in ("XCHAL_USER_VECOFS", "XCHAL_KERNEL_VECOFS", "XCHAL_DOUBLEEXC_VECOFS")
)
ROOM = 512
"""Bytes between the interrupted stack pointer and the handler's frame."""
_LIVE = ("instructions", "budget", "INTERRUPT", "INTENABLE", "CCOUNT", "CCOMPARE0", "CCOMPARE1", "CCOMPARE2")


class RomInterrupts:
    """Vectors of one core: its handlers, and the states that they have interrupted."""

    def __init__(self, machine: Machine, core: Core) -> None:
        self._machine = machine
        self._engine = core.engine
        self.handlers: dict[int, tuple[int, int]] = {}
        self._kept: list[CpuState] = []
        for address in (USER, KERNEL):
            core.engine.serve(address, self._exception)
        core.engine.serve(DOUBLE, self._fatal)
        core.engine.serve(RETURN, self._return)

    def reset(self) -> None:
        """No handlers."""
        self.handlers.clear()
        self._kept.clear()

    def _exception(self, guest: GuestCall) -> None:
        state = guest.state
        wanted = state.INTERRUPT & state.INTENABLE & level_mask(1)
        if state.EXCCAUSE != Cause.LEVEL1_INTERRUPT or not wanted:
            self._fatal(guest)
            return
        number = (wanted & -wanted).bit_length() - 1
        if number not in self.handlers:
            state.INTENABLE &= ~(1 << number)
            self._machine.unknown(f"interrupt {number} without a handler of the ROM")
            self._leave()
            return
        self._call(number)

    def _call(self, number: int) -> None:
        """Enter the handler."""
        state = self._engine.state
        self._kept.append(state_tools.copy(state))
        handler, argument = self.handlers[number]
        pointer = (state.get_a(1) - ROOM) & ~15
        self._machine.memory.write(pointer - 16, struct.pack("<IIII", 0, pointer + ROOM // 2, 0, 0))
        state_tools.prepare_call(state)
        state.PSINTLEVEL = 1
        state.set_a(0, 0)
        state.set_a(1, pointer)
        state.set_a(8, 2 << 30 | RETURN & 0x3FFFFFFF)
        state.set_a(10, argument)
        state.PC = handler

    def _return(self, guest: GuestCall) -> None:
        """The handler is done: everything but time and interrupts is as it was."""
        state = guest.state
        live = {name: getattr(state, name) for name in _LIVE}
        state_tools.restore(state, self._kept.pop())
        for name, value in live.items():
            setattr(state, name, value)
        self._leave()

    def _leave(self) -> None:
        """As ``rfe``."""
        state = self._engine.state
        state.PC = state.EPC1
        state.PSEXCM = 0
        self._engine.interrupts.changed()

    def _fatal(self, guest: GuestCall) -> None:
        """What the ROM prints of an exception that nobody handles; the watchdog would follow."""
        state = guest.state
        self._machine.fatal(
            f"Fatal exception ({state.EXCCAUSE}): \r\n"
            f"epc1={state.EPC1:#010x}, excvaddr={state.EXCVADDR:#010x}, "
            f"depc={state.DEPC:#010x}, exccause={state.EXCCAUSE:#x}\r\n"
        )


def _attach(call: RomCall) -> None:
    """``ets_isr_attach(number, handler, argument)``"""
    machine(call).rom_interrupts_of(call.engine).handlers[call[0] & 31] = (call[1], call[2])


def _unmask(call: RomCall) -> None:
    """``(mask)``"""
    call.engine.state.INTENABLE |= call[0]
    call.engine.interrupts.changed()


def _mask(call: RomCall) -> None:
    """``(mask)``"""
    call.engine.state.INTENABLE &= ~call[0] & 0xFFFFFFFF


def _route(call: RomCall) -> None:
    """``intr_matrix_set(core, source, number)``"""
    core, source, number = call.guest.arguments(3)
    machine(call).matrix.set(0x800 * core + 4 * source, number)


FUNCTIONS: dict[str, RomFunction] = {
    "ets_isr_attach": _attach,
    "ets_isr_unmask": _unmask,
    "ets_isr_mask": _mask,
    "intr_matrix_set": _route,
    "ets_intr_lock": giving(0),
    "ets_intr_unlock": giving(0),
}
