"""The shared state: layout rules, reset values, snapshots, dirt."""

from __future__ import annotations

import ctypes

import pytest

from emu.cpu import state_tools
from emu.cpu.state import ENGINE_FIELDS, OFFSETS, SIZE, STATES, CpuState, address_of, new_state
from emu.isa import registers


def test_every_state_of_the_table_is_there_with_its_width() -> None:
    for name, width in registers.STATES.items():
        assert STATES[name] == width
        assert name in OFFSETS


def test_layout_rules() -> None:
    assert address_of(new_state()) % 64 == 0
    for name in ("q", "QACC_H", "QACC_L", "UA_STATE"):
        assert OFFSETS[name] % 16 == 0
    for name, kind in CpuState._fields_:  # type: ignore[misc]
        assert OFFSETS[name] % min(ctypes.sizeof(kind), 8) == 0 or OFFSETS[name] % ctypes.alignment(kind) == 0
    used = sorted((OFFSETS[name], ctypes.sizeof(kind)) for name, kind in CpuState._fields_)  # type: ignore[misc]
    assert used[0][0] == 0
    assert sum(used[-1]) <= SIZE


@pytest.mark.parametrize("name", list(STATES))
def test_set_and_get_reduce_to_the_width(name: str) -> None:
    state, width = new_state(), STATES[name]
    state.set(name, -1)
    assert state.get(name) == (1 << width) - 1
    others = {n: state.get(n) for n in STATES if n != name}
    assert not any(others.values())
    state.set(name, 1 << (width - 1))
    assert state.get(name) == 1 << (width - 1)


def test_vectors_are_little_endian_words() -> None:
    state = new_state()
    state.set_q(3, 0x0F0E0D0C_0B0A0908_07060504_03020100)
    raw = bytes(state)[OFFSETS["q"] + 48 : OFFSETS["q"] + 64]
    assert raw == bytes(range(16))
    state.set("QACC_H", 0x2_00000001 << 96)
    assert bytes(state)[OFFSETS["QACC_H"] :][:32].hex() == "00" * 12 + "01000000" + "02000000" + "00" * 12


def test_windowed_access_wraps() -> None:
    state = new_state()
    state.WindowBase = 15
    state.set_a(4, 5)
    assert state.ar[0] == 5
    assert state.get_a(4) == 5


def test_reset_values() -> None:
    state = new_state()
    state_tools.dirty(state, 4)
    state_tools.reset(state)
    values = state_tools.values(state)
    assert values["CPENABLE"] == 0xFF
    assert (values["PSINTLEVEL"], values["PSEXCM"], values["PSWOE"]) == (15, 1, 0)
    assert (values["WindowBase"], values["WindowStart"]) == (0, 1)
    assert values["VECBASE"] << 10 == 0x40000000
    assert values["ar5"] == values["q3"] == values["f7"] == values["ACCX"] == values["br"] == 0


def test_dirty_is_random_repeatable_and_within_limits() -> None:
    first, second, other = (new_state() for _ in range(3))
    for state in (first, second, other):
        state_tools.reset(state)
    state_tools.dirty(first, 11)
    state_tools.dirty(second, 11)
    state_tools.dirty(other, 12)
    assert bytes(first) == bytes(second)
    changed = state_tools.compare(first, other)
    for name in (
        "ar0",
        "ar63",
        "q7",
        "f15",
        "m3",
        "ACCX",
        "QACC_H",
        "QACC_L",
        "UA_STATE",
        "SAR",
        "LBEG",
        "LEND",
    ):
        assert name in changed, name
    for name in ("LCOUNT", "CPENABLE", "WindowStart", "PSWOE", "RoundMode", "PC", "INTENABLE"):
        assert name not in changed, name
    for name, value in state_tools.values(first).items():
        assert value < 1 << STATES.get(name, 128)
    assert all(bytes(getattr(first, name)) == bytes(getattr(other, name)) for name in ("exit_detail",))
    assert [getattr(first, n) for n in ENGINE_FIELDS[:7]] == [getattr(other, n) for n in ENGINE_FIELDS[:7]]


def test_copy_restore_compare() -> None:
    state = new_state()
    state_tools.reset(state)
    state_tools.dirty(state, 1)
    snapshot = state_tools.copy(state)
    assert state_tools.compare(state, snapshot) == {}
    state.ACCX ^= 1
    state.ar[17] ^= 2
    state.set_q(0, state.get_q(0) ^ 1 << 127)
    assert sorted(state_tools.compare(state, snapshot)) == ["ACCX", "ar17", "q0"]
    assert sorted(state_tools.compare(state, snapshot, frozenset(["q0"]))) == ["ACCX", "ar17"]
    state_tools.restore(state, snapshot)
    assert bytes(state) == bytes(snapshot)
