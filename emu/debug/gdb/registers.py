"""The registers that a debugger sees, under the numbers that GDB's register map of the ESP32-S3 gives them.

GDB for Xtensa takes names, numbers and sizes from the core's configuration, not from the target description;
the numbers here are those of that configuration, so that such a GDB works, and the target description tells
the same to everybody else. Numbers 0 to 127 are what a ``g`` packet holds. 180 to 211 (power, trace and
performance units) are not modelled. Registers from 512 on are whole accumulators, which GDB makes up itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from emu.cpu.state import STATES, CpuState
from emu.isa.registers import SPECIAL_BY_NAME, USER_BY_NAME, SystemRegister

GENERAL_REGISTERS = 128
"""Numbers below this one are in ``g`` and ``G`` packets."""
UNMODELLED = range(180, 212)

_SPECIALS_AFTER_AR = "lbeg lend lcount sar windowbase windowstart configid0 configid1 ps"
_OPTIONS = "br scompare1 acclo acchi m0 m1 m2 m3"
_VECTOR_USERS = (
    "accx_0 accx_1 qacc_h_0 qacc_h_1 qacc_h_2 qacc_h_3 qacc_h_4 qacc_l_0 qacc_l_1 qacc_l_2 qacc_l_3 qacc_l_4 "
    "sar_byte fft_bit_width ua_state_0 ua_state_1 ua_state_2 ua_state_3"
)
_PRIVILEGED = (
    "mmid ibreakenable memctl atomctl ddr ibreaka0 ibreaka1 dbreaka0 dbreaka1 dbreakc0 dbreakc1 "
    "epc1 epc2 epc3 epc4 epc5 epc6 epc7 depc eps2 eps3 eps4 eps5 eps6 eps7 "
    "excsave1 excsave2 excsave3 excsave4 excsave5 excsave6 excsave7 "
    "cpenable interrupt intset intclear intenable "
    "vecbase exccause debugcause ccount prid icount icountlevel excvaddr ccompare0 ccompare1 ccompare2 "
    "misc0 misc1 misc2 misc3"
)
_ALIASES = {"intset": "INTERRUPT"}
"""Names of the map for registers that the table knows under another one."""
A0_NUMBER = 212
WHOLE_NUMBER = 512


@dataclass(frozen=True)
class Register:
    """One register: ``bits`` as transferred (a multiple of 8); ``group``, ``type``: for the description.

    ``read`` gives a non-negative integer, ``write`` takes one and drops the bits that do not exist.
    """

    name: str
    number: int
    bits: int
    group: str
    type: str
    read: Callable[[CpuState], int]
    write: Callable[[CpuState, int], None]

    @property
    def size(self) -> int:
        """Bytes in a packet."""
        return self.bits // 8

    def fetch(self, state: CpuState) -> bytes:
        """The value as it is sent: little-endian."""
        return self.read(state).to_bytes(self.size, "little")

    def store(self, state: CpuState, data: bytes) -> None:
        """Set the value from the bytes of a packet."""
        self.write(state, int.from_bytes(data, "little"))


@cache
def registers() -> Mapping[int, Register]:
    """All registers by number, in order."""
    found = {register.number: register for register in _all()}
    return MappingProxyType(dict(sorted(found.items())))


@cache
def by_name() -> Mapping[str, Register]:
    """All registers by name."""
    return MappingProxyType({register.name: register for register in registers().values()})


def _all() -> Iterator[Register]:
    yield _state("pc", 0, "PC", 32, "general", "code_ptr")
    for i in range(64):
        yield _physical(i)
    number = 65
    for name in (*_SPECIALS_AFTER_AR.split(), "threadptr", *_OPTIONS.split(), "gpio_out"):
        yield _system(name, number, "system")
        number += 1
    for i in range(16):
        yield _float(i, number + i)
    number += 16
    for name in ("fcr", "fsr"):
        yield _system(name, number, "float")
        number += 1
    for name in _VECTOR_USERS.split():
        yield _system(name, number, "vector")
        number += 1
    for i in range(8):
        yield _vector(i, number + i)
    number += 8
    assert number == GENERAL_REGISTERS
    for name in _PRIVILEGED.split():
        yield _system(name, number, "system")
        number += 1
    for i in range(16):
        yield _window(i)
    yield _state("accx", WHOLE_NUMBER, "ACCX", 64, "vector", "uint64")
    yield _state("qacc_h", WHOLE_NUMBER + 1, "QACC_H", 160, "vector", "u32x5")
    yield _state("qacc_l", WHOLE_NUMBER + 2, "QACC_L", 160, "vector", "u32x5")
    yield _state("ua_state", WHOLE_NUMBER + 3, "UA_STATE", 128, "vector", "vec128")
    yield _state("acc", WHOLE_NUMBER + 4, "ACC", 64, "system", "uint64")


def _state(name: str, number: int, state_name: str, bits: int, group: str, type_: str) -> Register:
    return Register(
        name,
        number,
        bits,
        group,
        type_,
        lambda state: state.get(state_name),
        lambda state, value: state.set(state_name, value),
    )


def _physical(index: int) -> Register:
    def write(state: CpuState, value: int) -> None:
        state.ar[index] = value & 0xFFFFFFFF

    return Register(f"ar{index}", 1 + index, 32, "window", "uint32", lambda s: int(s.ar[index]), write)


def _window(index: int) -> Register:
    type_ = "data_ptr" if index == 1 else "uint32"
    return Register(
        f"a{index}",
        A0_NUMBER + index,
        32,
        "general",
        type_,
        lambda state: state.get_a(index),
        lambda state, value: state.set_a(index, value),
    )


def _float(index: int, number: int) -> Register:
    def write(state: CpuState, value: int) -> None:
        state.f[index] = value & 0xFFFFFFFF

    return Register(f"f{index}", number, 32, "float", "ieee_single", lambda s: int(s.f[index]), write)


def _vector(index: int, number: int) -> Register:
    return Register(
        f"q{index}",
        number,
        128,
        "vector",
        "vec128",
        lambda state: state.get_q(index),
        lambda state, value: state.set_q(index, value),
    )


def _system(name: str, number: int, group: str) -> Register:
    register = _table_register(_ALIASES.get(name, name.upper()))
    if name == "ccount":
        return Register(name, number, 32, group, "uint32", _read_ccount, _write_ccount)
    return Register(
        name,
        number,
        32,
        group,
        "uint32",
        lambda state: _gather(state, register),
        lambda state, value: _scatter(state, register, value),
    )


def _table_register(name: str) -> SystemRegister:
    return SPECIAL_BY_NAME[name] if name in SPECIAL_BY_NAME else USER_BY_NAME[name]


def _gather(state: CpuState, register: SystemRegister) -> int:
    """A special or user register from the states behind it."""
    if not register.parts:
        return state.get(register.name) if register.name in STATES else 0
    value = 0
    for part in register.parts:
        bits = _piece(state, part.state) >> part.lo & (1 << part.width) - 1
        value |= bits << part.at_lsb
    return value


def _piece(state: CpuState, name: str) -> int:
    if name in STATES:
        return state.get(name)
    index = int(name[1:])
    return int(state.br) >> index & 1 if name[0] == "b" else int(state.mr[index])


def _scatter(state: CpuState, register: SystemRegister, value: int) -> None:
    if not register.parts and register.name in STATES:
        state.set(register.name, value)
    for part in register.parts:
        mask = (1 << part.width) - 1
        _put_piece(state, part.state, mask << part.lo, (value >> part.at_lsb & mask) << part.lo)


def _put_piece(state: CpuState, name: str, mask: int, bits: int) -> None:
    if name in STATES:
        state.set(name, state.get(name) & ~mask | bits)
    elif name[0] == "b":
        index = int(name[1:])
        state.br = int(state.br) & ~(1 << index) | bits << index
    else:
        state.mr[int(name[1:])] = bits & 0xFFFFFFFF


def _read_ccount(state: CpuState) -> int:
    return (int(state.CCOUNT) + int(state.instructions)) & 0xFFFFFFFF


def _write_ccount(state: CpuState, value: int) -> None:
    state.CCOUNT = (value - int(state.instructions)) & 0xFFFFFFFF
