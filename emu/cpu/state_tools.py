"""What is done with whole processor states: reset, copy, compare, dirty."""

from __future__ import annotations

import ctypes
import random
from functools import cache
from typing import Any, cast

import numpy as np

from emu.cpu.state import ENGINE_FIELDS, SIZE, STATES, WINDOW_REGISTERS, CpuState, new_state

RESET_VALUES = {
    "PSINTLEVEL": 15,
    "PSEXCM": 1,
    "WindowStart": 1,
    "CPENABLE": 0xFF,
    "VECBASE": 0x40000000 >> 10,
    "ATOMCTL": 0x28,
    "MEMCTL": 1,
    "PRID": 0xCDCD,
    "CONFIGID0": 0xC2F0FFFE,
    "CONFIGID1": 0x23090F1F,
    "FFT_BIT_WIDTH": 8,
}
"""States that are not 0 after reset: PS and VECBASE by the core configuration, the configuration numbers by
the core header; CPENABLE reads 0xFF and FFT_BIT_WIDTH acts as 8 at program start on measured chips (PIE
facts, section 2 and contested item 14); PRID is that of core 0."""

CALL_VALUES = {
    "PSINTLEVEL": 0,
    "PSEXCM": 0,
    "PSUM": 1,
    "PSWOE": 1,
    "PSCALLINC": 2,
    "PSOWB": 0,
    "WindowBase": 0,
    "WindowStart": 1,
    "LCOUNT": 0,
    "CPENABLE": 0xFF,
    "RoundMode": 0,
    "InvalidEnable": 0,
    "DivZeroEnable": 0,
    "OverflowEnable": 0,
    "UnderflowEnable": 0,
    "InexactEnable": 0,
}
"""What start-up code leaves for C code of the windowed ABI, just after a call8."""

_KEPT_BY_DIRTY = frozenset(
    (
        *("PC", "WindowBase", "WindowStart", "LCOUNT", "THREADPTR", "VECBASE", "CPENABLE"),
        *("PSINTLEVEL", "PSUM", "PSWOE", "PSEXCM", "PSCALLINC", "PSOWB", "RoundMode"),
        *("InvalidEnable", "DivZeroEnable", "OverflowEnable", "UnderflowEnable", "InexactEnable"),
        *("PRID", "CONFIGID0", "CONFIGID1", "MEMCTL", "ATOMCTL", "LITBASE", "MMID", "ERACCESS"),
        *("INTENABLE", "INTERRUPT", "CCOUNT", "CCOMPARE0", "CCOMPARE1", "CCOMPARE2", "ICOUNT", "ICOUNTLEVEL"),
        *("IBREAKENABLE", "DBREAKC0", "DBREAKC1", "InOCDMode", "DDR", "XTSYNC"),
        *("ERI_RAW_INTERLOCK", "ERI_RD_In", "ERI_RD_Rdy", "ERI_WR_In"),
    )
)
"""States that a function may rely on, or that would start debug, timer or interrupt effects."""


def reset(state: CpuState) -> None:
    """Architectural state as after a reset of core 0; registers 0, engine pointers kept."""
    for name in ("ar", "q", "f", "mr"):
        array = getattr(state, name)
        ctypes.memset(ctypes.addressof(array), 0, ctypes.sizeof(array))
    state.br = 0
    for name in STATES:
        state.set(name, RESET_VALUES.get(name, 0))
    state.instructions = 0
    state.exit_reason = 0


def prepare_call(state: CpuState) -> None:
    """Control states as a C function of the windowed ABI may expect them, whatever ran before."""
    for name, value in CALL_VALUES.items():
        setattr(state, name, value)


def copy(state: CpuState) -> CpuState:
    """A snapshot, engine fields included."""
    other = new_state()
    restore(other, state)
    return other


def restore(state: CpuState, snapshot: CpuState) -> None:
    """Overwrite every byte of ``state`` with ``snapshot``."""
    ctypes.memmove(ctypes.addressof(state), ctypes.addressof(snapshot), ctypes.sizeof(CpuState))


def values(state: CpuState) -> dict[str, int]:
    """Every architectural value by name: a0.. of the physical file as ``ar0``.., q0.., f0.., m0.., states."""
    found = {f"ar{i}": state.ar[i] for i in range(WINDOW_REGISTERS)}
    found |= {f"q{i}": state.get_q(i) for i in range(8)}
    found |= {f"f{i}": state.f[i] for i in range(16)}
    found |= {f"m{i}": state.mr[i] for i in range(4)}
    found["br"] = state.br
    return found | {name: state.get(name) for name in STATES}


def compare(a: CpuState, b: CpuState, ignore: frozenset[str] = frozenset()) -> dict[str, tuple[int, int]]:
    """Architectural differences by name (names as in :func:`values`): name -> (value in a, value in b)."""
    left, right = values(a), values(b)
    return {
        name: (left[name], right[name]) for name in left if left[name] != right[name] and name not in ignore
    }


def dirty(state: CpuState, seed: int) -> None:
    """Random contents in everything that a function may not rely on.

    Registers of all files, accumulators, SAR, SAR_BYTE, loop addresses (LCOUNT stays 0), sticky flags,
    scratch registers. PS, window, FCR, CPENABLE, timers, debug and interrupt registers keep their values.
    """
    bits = np.frombuffer(cast(Any, state), np.uint8)
    pool = _noise()
    first, second = seed % _NOISE_SIZE, seed // _NOISE_SIZE * 40503 % _NOISE_SIZE
    noise = pool[0, first : first + SIZE] ^ pool[1, second : second + SIZE]
    bits ^= (bits ^ noise) & _dirty_mask()


_NOISE_SIZE = 1 << 16


@cache
def _noise() -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Two rows of random bytes; a seed picks a place in each, which is faster than drawing anew."""
    size = _NOISE_SIZE + SIZE
    return np.frombuffer(random.Random(0).randbytes(2 * size), np.uint8).reshape(2, size)


@cache
def _dirty_mask() -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Bytes of a state with a 1 in every bit that :func:`dirty` may change."""
    mask = new_state()
    for name in ("ar", "q", "f", "mr"):
        array = getattr(mask, name)
        ctypes.memset(ctypes.addressof(array), 0xFF, ctypes.sizeof(array))
    mask.br = 0xFFFF
    for name in STATES:
        if name not in _KEPT_BY_DIRTY:
            mask.set(name, -1)
    return np.frombuffer(bytes(mask), np.uint8)


def is_engine_field(name: str) -> bool:
    """True for fields that are no part of the architecture."""
    return name in ENGINE_FIELDS
