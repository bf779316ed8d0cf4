"""The processor state as one ctypes structure, shared by the reference stepper and by translated code.

The layout is generated from the register table (``emu/isa/data/registers.csv``), so both tiers and every
test see the same fields. Rules of the layout:

* ``q`` (8 x 128 bits), then states wider than 64 bits, all 16-byte aligned, least significant word first:
  ``QACC_H`` and ``QACC_L`` (160 bits in 32 bytes whose last 12 bytes stay 0), ``UA_STATE`` (16 bytes);
* then 64-bit fields: the engine's counters and pointers, the 40-bit states ``ACC`` and ``ACCX``;
* then 32-bit fields: ``ar`` (64 physical registers), ``f``, ``mr``, ``br`` (b0 is bit 0), every other state,
  and the engine's exit words.

Every state is stored zero-extended to its field, also the signed accumulators: one canonical form, so two
states are equal exactly when their bytes are. ``PC`` is the state of that name and the engine's program
counter. ``CCOUNT`` is kept relative to the instruction counter (one cycle an instruction): what an
instruction reads is ``(CCOUNT + instructions) mod 2**32``, so that nobody has to count it up.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping
from enum import IntEnum
from types import MappingProxyType
from typing import Any, cast

from emu.isa.table import read_csv

WINDOW_REGISTERS = 64
"""Physical address registers; the window moves in steps of 4."""


class ExitReason(IntEnum):
    """Why translated code, or a run of the stepper, returned to the engine."""

    RUNNING = 0
    RETURN = 1
    """PC is the return address of the host call."""
    JUMP = 2
    """Go on at PC: nothing is translated there yet."""
    STEP = 3
    """The instruction at PC is left to the stepper; go on behind it."""
    BUDGET = 4
    """The instruction budget is used up."""
    EXCEPTION = 5
    """An exception at PC: ``exit_cause`` (machine.Cause), ``fault_address``."""
    CODE_CHANGED = 6
    """A store hit a page with translated code; go on at PC."""
    INTERRUPT = 7
    """An interrupt is pending and enabled at PC."""


def _state_widths() -> dict[str, int]:
    """States by name with their width in bits, then constant special registers and input signals."""
    lines = read_csv("registers.csv")
    widths = {line["name"]: int(line["bits"]) for line in lines if line["type"] == "state"}
    for line in lines:
        has_state = line["name"] in widths or line["layout"]
        if line["type"] == "special" and not has_state and line["name"] in _STATELESS:
            widths[line["name"]] = int(line["bits"])
        if line["type"] == "interface" and line["note"] == "in":
            widths[line["name"]] = int(line["bits"])
    return widths


_STATELESS = ("LITBASE", "MMID", "ERACCESS", "CONFIGID0", "CONFIGID1", "PRID")
"""Special registers that the register table gives no state; they are kept under their own names."""

STATES: Mapping[str, int] = MappingProxyType(_state_widths())
"""Width in bits of everything that Machine.read_state can name, in layout order of its size class."""

REGISTER_FILES: Mapping[str, tuple[str, int, int]] = MappingProxyType(
    {
        "ar": ("ar", WINDOW_REGISTERS, 32),
        "fr": ("f", 16, 32),
        "qr": ("q", 8, 128),
        "br": ("br", 16, 1),
        "mr": ("mr", 4, 32),
    }
)
"""Operand class to (field, registers, bits of one register)."""

_ENGINE_64 = {
    "instructions": ctypes.c_uint64,
    "budget": ctypes.c_int64,
    "read_pages": ctypes.c_uint64,
    "write_pages": ctypes.c_uint64,
    "shadow_pages": ctypes.c_uint64,
    "jump_cache": ctypes.c_uint64,
    "engine_data": ctypes.c_uint64,
}
"""Executed instructions; instructions left; addresses of the page tables (0: bounds checks off), of the
translator's jump cache and of whatever else it keeps."""

_ENGINE_32 = {
    "exit_reason": ctypes.c_uint32,
    "exit_cause": ctypes.c_uint32,
    "fault_address": ctypes.c_uint32,
    "flags": ctypes.c_uint32,
    "exit_detail": ctypes.c_uint32 * 4,
}

ENGINE_FIELDS = tuple(_ENGINE_64) + tuple(_ENGINE_32)
"""Fields that are not architectural."""


def _fields() -> Iterator[tuple[str, Any]]:
    yield "q", (ctypes.c_uint32 * 4) * 8
    for name, width in STATES.items():
        if width > 64:
            yield name, ctypes.c_uint32 * (4 * -(-width // 128))
    yield from _ENGINE_64.items()
    for name, width in STATES.items():
        if 32 < width <= 64:
            yield name, ctypes.c_uint64
    yield "ar", ctypes.c_uint32 * WINDOW_REGISTERS
    yield "f", ctypes.c_uint32 * 16
    yield "mr", ctypes.c_uint32 * 4
    yield "br", ctypes.c_uint32
    for name, width in STATES.items():
        if width <= 32:
            yield name, ctypes.c_uint32
    yield from _ENGINE_32.items()


class CpuState(ctypes.Structure):
    """See the module text. Make one with :func:`new_state`, which aligns it to 64 bytes."""

    _fields_ = list(_fields())

    def get(self, name: str) -> int:
        """A state by name as a non-negative integer. Raises KeyError for an unknown name."""
        width = STATES[name]
        value = getattr(self, name)
        if width <= 64:
            return cast(int, value)
        return int.from_bytes(bytes(value), "little")

    def set(self, name: str, value: int) -> None:
        """Set a state from an integer, reduced to its width. Raises KeyError for an unknown name."""
        width = STATES[name]
        value &= (1 << width) - 1
        if width <= 64:
            setattr(self, name, value)
        else:
            _put_words(getattr(self, name), value)

    def get_q(self, index: int) -> int:
        """Vector register q<index> as a 128-bit integer."""
        return int.from_bytes(bytes(self.q[index]), "little")

    def set_q(self, index: int, value: int) -> None:
        """Set q<index> from an integer, modulo 2**128."""
        _put_words(self.q[index], value & ((1 << 128) - 1))

    def get_a(self, index: int) -> int:
        """Register a<index> (0..15) of the current window."""
        return cast(int, self.ar[(self.WindowBase * 4 + index) & 63])

    def set_a(self, index: int, value: int) -> None:
        """Set a<index> of the current window, modulo 2**32."""
        self.ar[(self.WindowBase * 4 + index) & 63] = value & 0xFFFFFFFF


def _put_words(words: Any, value: int) -> None:
    for i in range(len(words)):
        words[i] = value >> 32 * i & 0xFFFFFFFF


SIZE = ctypes.sizeof(CpuState)
"""Bytes of the structure."""

OFFSETS: Mapping[str, int] = MappingProxyType(
    {name: cast(int, getattr(CpuState, name).offset) for name, *_ in CpuState._fields_}
)
"""Byte offset of each field."""


def new_state(is_guarded: bool = False) -> CpuState:
    """A zeroed state at a 64-byte aligned address, which it keeps for life.

    ``is_guarded``: the host memory behind it, and pages before it, cannot be touched.
    """
    if is_guarded:
        return _guarded_state()
    buffer = bytearray(SIZE + 64)
    start = -ctypes.addressof(ctypes.c_char.from_buffer(buffer)) % 64
    return CpuState.from_buffer(buffer, start)


def _guarded_state() -> CpuState:
    from emu.cpu.memory import GUARD, Buffer

    room = -(-SIZE // GUARD) * GUARD
    return CpuState.from_buffer(Buffer(room, is_guarded=True).view, (room - SIZE) & ~63)


def address_of(state: CpuState) -> int:
    """Host address of the structure."""
    return ctypes.addressof(state)
