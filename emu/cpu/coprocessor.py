"""Which coprocessor an instruction belongs to (CPENABLE; core configuration: 0 is the FPU, 3 is PIE)."""

from __future__ import annotations

from emu.isa.registers import BY_MNEMONIC
from emu.isa.table import Row

FPU, PIE = 0, 3
_FLOAT_MOVES = ("ee.ldf.", "ee.stf.")


def coprocessor_of(row: Row, float_pair: str = "cp0") -> int | None:
    """0 or 3 when the row reads CPENABLE as its enable bit, else None.

    ``float_pair``: the reading of the contested fact float_pair_coprocessor, for ee.ldf.* and ee.stf.*.
    """
    if not any(use.name == "CPENABLE" and use.role == "in" for use in row.states):
        return None
    if row.group == "sr":
        return None
    if row.mnemonic.startswith(_FLOAT_MOVES):
        return FPU if float_pair == "cp0" else PIE
    if row.group == "ur":
        return FPU if BY_MNEMONIC[row.mnemonic].name in ("FCR", "FSR") else PIE
    return PIE if row.group == "pie" else FPU
