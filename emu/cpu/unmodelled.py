"""What the engine does not model, and what happens when the guest uses it: stop, or log once and go on.

Device registers that no board models read as 0 and swallow writes when they are logged; so do TLB entries and
external registers. Nothing is ever ignored in silence.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Literal

from emu.cpu.traps import Location, Trap, TrapKind
from emu.image.peripherals import register_text

Choice = Literal["stop", "log-once"]

log = logging.getLogger("emu.cpu")

_SERVICES = {
    "iitlb": "an entry of the instruction TLB is invalidated",
    "idtlb": "an entry of the data TLB is invalidated",
    "witlb": "the instruction TLB is written",
    "wdtlb": "the data TLB is written",
    "ritlb0": "the instruction TLB is read",
    "ritlb1": "the instruction TLB is read",
    "rdtlb0": "the data TLB is read",
    "rdtlb1": "the data TLB is read",
    "pitlb": "the instruction TLB is asked for an address",
    "pdtlb": "the data TLB is asked for an address",
    "rer": "an external register is read",
    "wer": "an external register is written",
}
"""Services of the semantics that stand for hardware; simcall needs a host and always stops."""

_DEBUG_STATES = {"IBREAKENABLE": 0x3, "DBREAKC0": 0xC0, "DBREAKC1": 0xC0, "ICOUNTLEVEL": 0xF}
"""Bits that switch hardware breakpoints on; debug exceptions by them are not modelled."""


class Unmodelled:
    """Decides what a use of missing hardware does; as a Device it answers for device registers.

    ``make_trap`` builds the trap of the current instruction; ``where`` names it.
    """

    def __init__(
        self,
        choice: Choice,
        make_trap: Callable[[TrapKind, str, int | None], Trap],
        where: Callable[[], Location],
    ) -> None:
        self.choice = choice
        self.seen: dict[str, str] = {}
        """What was used, and the first place that did, in the order of first use."""
        self._make_trap = make_trap
        self._where = where

    def use(self, what: str, address: int | None = None) -> None:
        """Trap, or log the first use of ``what``."""
        if self.choice == "stop":
            hint = "model it, or go on with the option unmodelled: log-once"
            raise self._make_trap(TrapKind.DEVICE, f"{what}: not modelled here ({hint})", address)
        if what not in self.seen:
            self.seen[what] = str(self._where())
            log.warning("not modelled, from now on without effect: %s, at %s", what, self.seen[what])

    def service(self, name: str, values: tuple[int, ...]) -> bool:
        """Use the hardware behind a service; False when the service stands for none."""
        if name not in _SERVICES:
            return False
        operands = ", ".join(f"{value:#x}" for value in values)
        self.use(f"{name} ({_SERVICES[name]}; operands {operands})")
        return True

    def debug_state(self, name: str, value: int) -> None:
        """A write to a state of the debug option: only switching breakpoints on matters."""
        if value & _DEBUG_STATES.get(name, 0):
            self.use(f"{name} = {value:#x} (hardware breakpoints and single steps of a debugger)")

    # --- as the device behind all device registers -----------------------------------------------------
    def read(self, address: int, size: int) -> int:
        """0, once it is allowed."""
        self.use(f"load of {size} bytes at {address:#010x} ({register_text(address)})", address)
        return 0

    def write(self, address: int, size: int, value: int) -> None:
        """Nothing, once it is allowed."""
        self.use(f"store of {size} bytes at {address:#010x} ({register_text(address)})", address)


DEBUG_STATES = frozenset(_DEBUG_STATES)
