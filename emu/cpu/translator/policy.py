"""Which instructions a unit leaves to the stepper, and why."""

from __future__ import annotations

from emu.cpu.translator.modes import MODE_STATES
from emu.isa.table import Row

_WRITES: dict[str, str] = {
    **dict.fromkeys(MODE_STATES, "units are made for one value of it"),
    **dict.fromkeys(("PSINTLEVEL", "INTERRUPT", "INTENABLE"), "an interrupt may have to be taken at once"),
    **dict.fromkeys(("CCOUNT", "CCOMPARE0", "CCOMPARE1", "CCOMPARE2"), "the engine keeps the timers"),
    **dict.fromkeys(("LBEG", "LEND", "LCOUNT"), "a loop end that the unit does not know may arise"),
    **dict.fromkeys(("WindowBase", "WindowStart"), "the register window moves in an unusual way"),
    **dict.fromkeys(("ICOUNT", "ICOUNTLEVEL", "IBREAKENABLE", "IBREAKA0", "IBREAKA1"), "debug exceptions"),
    **dict.fromkeys(("DBREAKA0", "DBREAKA1", "DBREAKC0", "DBREAKC1", "InOCDMode"), "debug exceptions"),
    **dict.fromkeys(("VECBASE", "MEMCTL", "ATOMCTL", "DEPC", "DDR"), "rare"),
}
"""States whose writers are left to the stepper."""

_READS: dict[str, str] = {
    "CCOUNT": "the engine counts instructions outside of the units",
    "INTERRUPT": "the engine keeps the interrupt lines",
    "ICOUNT": "the engine keeps it",
}
"""States whose readers are left to the stepper."""

_HANDLED = {
    "entry": "its window change is part of the translation",
    "retw": "its window change is part of the translation",
    "retw.n": "its window change is part of the translation",
    "loop": "native loops",
    "loopnez": "native loops",
    "loopgtz": "native loops",
}
"""Rows that the translator handles although they write such a state."""


_REASONS: dict[int, str] = {}
"""By the row's place in the table: a row itself takes long to hash."""


def stepper_reason(row: Row) -> str:
    """Why the row is left to the stepper; "" when it is translated.

    What asks the engine for a service (``Machine.service``) is left to it too; that shows when the effect
    is run.
    """
    reason = _REASONS.get(row.index)
    if reason is None:
        reason = _REASONS[row.index] = _reason(row)
    return reason


def _reason(row: Row) -> str:
    if row.mnemonic in _HANDLED:
        return ""
    for use in row.states:
        if use.is_interface:
            return f"{use.name} is an external signal"
        if use.role != "in" and use.name in _WRITES:
            return f"writes {use.name}: {_WRITES[use.name]}"
        if use.role != "out" and use.name in _READS:
            return f"reads {use.name}: {_READS[use.name]}"
    return ""
