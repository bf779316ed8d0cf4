"""Special and user registers, processor states and register files, from `data/registers.csv`.

A special or user register is a window on states: `layout` lists which bits of which state sit where. A
register without a layout in the table holds the state of its own name from bit 0.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from emu.isa.table import read_csv


@dataclass(frozen=True)
class Part:
    """Bits `hi`..`lo` of state `state` at bit `at_lsb` and upwards of the register."""

    state: str
    hi: int
    lo: int
    at_lsb: int

    @property
    def width(self) -> int:
        """Number of bits."""
        return self.hi - self.lo + 1


@dataclass(frozen=True)
class SystemRegister:
    """One special (rsr/wsr/xsr) or user (rur/wur) register.

    `read`, `write`, `exchange` are the mnemonics that access it, '' where there is none. `parts` are its
    layout, empty where the table knows no state behind it (LITBASE, MMID, ...). `bits` is its width.
    """

    name: str
    number: int
    bits: int
    is_user: bool
    read: str
    write: str
    exchange: str
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class RegisterFile:
    """A register file: `count` registers of `bits` bits, written with the letter `prefix`."""

    name: str
    bits: int
    count: int
    prefix: str
    view_of: str


# Names of the states where the register's own name is spelled in another way.
_STATE_NAMES = {"WINDOWBASE": "WindowBase", "WINDOWSTART": "WindowStart", "INTCLEAR": "INTERRUPT"}
_LAYOUT = re.compile(r"(?P<state>\w+)(\[(?P<hi>\d+):(?P<lo>\d+)\])?@(?P<first>\d+)(-(?P<last>\d+))?")


@cache
def _lines(kind: str) -> list[dict[str, str]]:
    return [line for line in read_csv("registers.csv") if line["type"] == kind]


def _states() -> Mapping[str, int]:
    return MappingProxyType({line["name"]: int(line["bits"]) for line in _lines("state")})


def _interfaces() -> Mapping[str, int]:
    return MappingProxyType({line["name"]: int(line["bits"]) for line in _lines("interface")})


def _files() -> Mapping[str, RegisterFile]:
    return MappingProxyType({line["name"]: _file(line) for line in _lines("regfile")})


def _file(line: Mapping[str, str]) -> RegisterFile:
    parent = line["layout"].removeprefix("view of ")
    return RegisterFile(
        line["name"], int(line["bits"]), int(line["count"]), line["note"].removeprefix("prefix "), parent
    )


def _system(kind: str) -> Mapping[str, SystemRegister]:
    return MappingProxyType({line["name"]: _register(line) for line in _lines(kind)})


def _register(line: Mapping[str, str]) -> SystemRegister:
    return SystemRegister(
        name=line["name"],
        number=int(line["number"]),
        bits=int(line["bits"]),
        is_user=line["type"] == "user",
        read=line["rsr"],
        write=line["wsr"],
        exchange=line["xsr"],
        parts=_parts(line),
    )


def _parts(line: Mapping[str, str]) -> tuple[Part, ...]:
    name, layout = line["name"], line["layout"]
    if name == "BR":
        return tuple(Part(f"b{number}", 0, 0, number) for number in range(16))
    if layout:
        return tuple(_part(text) for text in layout.split())
    if re.fullmatch(r"M[0-3]", name):
        return (Part(name.lower(), 31, 0, 0),)
    state = _STATE_NAMES.get(name, name)
    return (Part(state, STATES[state] - 1, 0, 0),) if state in STATES else ()


def _part(text: str) -> Part:
    found = _LAYOUT.fullmatch(text)
    if not found:
        raise ValueError(f"registers.csv: layout {text!r} is not STATE[hi:lo]@first-last")
    first = int(found["first"])
    width = int(found["last"] or first) - first + 1
    low = int(found["lo"] or 0)
    return Part(found["state"], low + width - 1, low, first)


STATES: Mapping[str, int] = _states()
"""Processor states to their width in bits."""
INTERFACES: Mapping[str, int] = _interfaces()
"""External signals to their width in bits."""
REGISTER_FILES: Mapping[str, RegisterFile] = _files()
"""Register files AR, MR, BR, FR, QR, and the views BR2 .. BR16."""
SPECIAL_BY_NAME: Mapping[str, SystemRegister] = _system("special")
"""Special registers by upper-case name; BR's parts are b0..b15, those of M0..M3 the registers m0..m3."""
USER_BY_NAME: Mapping[str, SystemRegister] = _system("user")
"""User registers by upper-case name."""
SPECIAL_BY_NUMBER: Mapping[int, SystemRegister] = MappingProxyType(
    {register.number: register for register in SPECIAL_BY_NAME.values()}
)
"""Special registers by the number in rsr/wsr/xsr."""
USER_BY_NUMBER: Mapping[int, SystemRegister] = MappingProxyType(
    {register.number: register for register in USER_BY_NAME.values()}
)
"""User registers by the number in rur/wur."""
BY_MNEMONIC: Mapping[str, SystemRegister] = MappingProxyType(
    {
        mnemonic: register
        for register in (*SPECIAL_BY_NAME.values(), *USER_BY_NAME.values())
        for mnemonic in (register.read, register.write, register.exchange)
        if mnemonic
    }
)
"""The register that rsr.*, wsr.*, xsr.*, rur.* or wur.* accesses."""
