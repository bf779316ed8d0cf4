"""System registers: layouts agree with the states that the instructions name, numbers with the encodings."""

from __future__ import annotations

import pytest

from emu.isa import registers
from emu.isa.registers import (
    BY_MNEMONIC,
    REGISTER_FILES,
    SPECIAL_BY_NAME,
    STATES,
    USER_BY_NAME,
    SystemRegister,
)
from emu.isa.table import Row, by_key, rows

ACCESSES = [row for row in rows() if row.mnemonic.split(".")[0] in ("rsr", "wsr", "xsr", "rur", "wur")]
# Beside the register: the coprocessor's enable bit, the synchronisation state, and the timer interrupt that a
# write of CCOMPARE clears.
BESIDE = {"CPENABLE", "XTSYNC", "INTERRUPT"}


def states_of(row: Row) -> set[str]:
    return {use.name for use in row.states if not use.is_interface}


@pytest.mark.parametrize("row", ACCESSES, ids=lambda row: row.mnemonic)
def test_layout_names_the_states_of_the_instruction(row: Row) -> None:
    parts = {part.state for part in BY_MNEMONIC[row.mnemonic].parts}
    in_file = {name for name in parts if name[0] in "bm" and name[1:].isdigit()}
    assert parts - in_file <= states_of(row)
    assert states_of(row) - parts <= BESIDE
    assert bool(in_file) == bool(row.implicit)


@pytest.mark.parametrize("row", ACCESSES, ids=lambda row: row.mnemonic)
def test_number_is_in_the_encoding(row: Row) -> None:
    register = BY_MNEMONIC[row.mnemonic]
    shift = 4 if row.mnemonic.startswith("rur") else 8
    assert row.match >> shift & 0xFF == register.number


def test_every_access_has_its_register_and_back() -> None:
    assert set(BY_MNEMONIC) == {row.mnemonic for row in ACCESSES}
    assert len(ACCESSES) == 244


@pytest.mark.parametrize(
    "register", [*SPECIAL_BY_NAME.values(), *USER_BY_NAME.values()], ids=lambda r: r.name
)
def test_parts_do_not_overlap_and_fit(register: SystemRegister) -> None:
    taken = 0
    for part in register.parts:
        mask = ((1 << part.width) - 1) << part.at_lsb
        assert taken & mask == 0
        taken |= mask
        assert part.width >= 1
        assert part.at_lsb + part.width <= 32
        if part.state in STATES:
            assert part.hi < STATES[part.state]
    # DEBUGCAUSE and PS have bits that their `bits` column does not count; none reaches past 32.
    assert taken < 1 << 32


@pytest.mark.parametrize(
    "state", ["ACCX", "QACC_H", "QACC_L", "UA_STATE", "ACC", "SAR", "SAR_BYTE", "RoundMode"]
)
def test_wide_states_are_covered_exactly_once(state: str) -> None:
    bits: list[int] = []
    for register in (*SPECIAL_BY_NAME.values(), *USER_BY_NAME.values()):
        for part in register.parts:
            if part.state == state:
                bits.extend(range(part.lo, part.hi + 1))
    assert sorted(bits) == list(range(STATES[state]))


def test_known_layouts() -> None:
    ps = {part.state: (part.at_lsb, part.width) for part in SPECIAL_BY_NAME["PS"].parts}
    assert ps == {
        "PSINTLEVEL": (0, 4),
        "PSEXCM": (4, 1),
        "PSUM": (5, 1),
        "PSOWB": (8, 4),
        "PSCALLINC": (16, 2),
        "PSWOE": (18, 1),
    }
    assert [(part.state, part.at_lsb) for part in SPECIAL_BY_NAME["VECBASE"].parts] == [("VECBASE", 10)]
    assert USER_BY_NAME["QACC_L_4"].parts == (registers.Part("QACC_L", 159, 128, 0),)
    assert registers.SPECIAL_BY_NUMBER[226].write == "wsr.intset"
    assert registers.USER_BY_NUMBER[231].name == "THREADPTR"


def test_register_files() -> None:
    sizes = {file.name: (file.count, file.bits) for file in REGISTER_FILES.values() if not file.view_of}
    assert sizes == {"AR": (64, 32), "MR": (4, 32), "BR": (16, 1), "FR": (16, 32), "QR": (8, 128)}
    assert REGISTER_FILES["BR4"].view_of == "BR"


def test_every_state_of_the_instructions_is_known() -> None:
    used = {use.name: use.is_interface for row in rows() for use in row.states}
    assert {name for name, pin in used.items() if not pin} <= set(STATES)
    assert {name for name, pin in used.items() if pin} <= set(registers.INTERFACES)


def test_a_broken_layout_is_refused() -> None:
    with pytest.raises(ValueError, match="layout 'ACC' is not"):
        registers._part("ACC")
    assert by_key()["rsr.ps"].group == "sr"
