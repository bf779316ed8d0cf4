"""Ends of a program (abort, assert, panic) and the time: what has no meaning without a running system."""

from __future__ import annotations

import numpy as np

from emu.cpu.traps import TrapKind
from emu.rom.functions import RomCall, rom_function

CPU_MHZ = 240


def _text(call: RomCall, address: int) -> str:
    return call.string(address).decode("utf-8", "replace") if address else "?"


@rom_function("abort", "panic_abort", "__cxa_pure_virtual", "__stack_chk_fail", by_symbol=True)
def abort(call: RomCall) -> None:
    """Ends the call with its name."""
    text = f": {_text(call, call[0])}" if call.name == "panic_abort" else ""
    raise call.trap(TrapKind.ABORT, f"{call.name}() is called{text}")


@rom_function("esp_system_abort", by_symbol=True)
def system_abort(call: RomCall) -> None:
    """With its message."""
    raise call.trap(TrapKind.ABORT, f"esp_system_abort: {_text(call, call[0])}")


@rom_function("__assert_func", by_symbol=True)
def assert_func(call: RomCall) -> None:
    """``(file, line, function, expression)``."""
    where = f"{_text(call, call[0])}:{call[1]}"
    raise call.trap(
        TrapKind.ABORT, f"assertion {_text(call, call[3])} failed in {_text(call, call[2])}, {where}"
    )


@rom_function("__assert", by_symbol=True)
def assert_short(call: RomCall) -> None:
    """``(file, line, expression)``."""
    raise call.trap(
        TrapKind.ABORT, f"assertion {_text(call, call[2])} failed, {_text(call, call[0])}:{call[1]}"
    )


@rom_function("_esp_error_check_failed", by_symbol=True)
def error_check_failed(call: RomCall) -> None:
    """``(code, file, line, function, expression)``."""
    what = f"ESP_ERROR_CHECK failed: {call.signed(0)} ({call[0]:#x}) from {_text(call, call[4])}"
    raise call.trap(TrapKind.ABORT, f"{what}, {_text(call, call[1])}:{call[2]}")


@rom_function("esp_restart", "software_reset", "software_reset_cpu", "esp_restart_noos", by_symbol=True)
def restart(call: RomCall) -> None:
    """There is nothing to start again."""
    raise call.trap(TrapKind.ABORT, f"{call.name}() is called: the chip would start again")


@rom_function("__cxa_throw", "__cxa_rethrow", "_Unwind_Resume", "_Unwind_RaiseException", by_symbol=True)
def throw(call: RomCall) -> None:
    """Exceptions are not unwound here."""
    raise call.trap(TrapKind.ABORT, f"{call.name}: a C++ exception is thrown")


@rom_function("ets_delay_us", "esp_rom_delay_us", "usleep", by_symbol=True)
def delay(call: RomCall) -> int:
    """Time passes at once: no kernel's result may depend on it."""
    return 0


@rom_function("ets_get_cpu_frequency", "esp_rom_get_cpu_ticks_per_us", "esp_clk_cpu_freq_mhz", by_symbol=True)
def frequency(call: RomCall) -> int:
    """MHz, the chip's greatest."""
    return CPU_MHZ


@rom_function("esp_clk_cpu_freq", by_symbol=True)
def frequency_hz(call: RomCall) -> int:
    """Hz."""
    return CPU_MHZ * 1_000_000


@rom_function("esp_timer_get_time", "esp_system_get_time", by_symbol=True)
def timer(call: RomCall) -> np.int64:
    """Microseconds as if every instruction took one cycle."""
    return np.int64(call.engine.interrupts.cycles // CPU_MHZ)


@rom_function("xthal_get_ccount", "esp_cpu_get_cycle_count", by_symbol=True)
def ccount(call: RomCall) -> int:
    """The cycle counter."""
    return call.engine.interrupts.cycles & 0xFFFFFFFF


@rom_function("__cxa_guard_acquire", by_symbol=True)
def guard_acquire(call: RomCall) -> int:
    """1: the static variable is to be made now."""
    return int(call.read(call[0], 1)[0] == 0)


@rom_function("__cxa_guard_release", by_symbol=True)
def guard_release(call: RomCall) -> None:
    """It is made."""
    call.write(call[0], b"\1")


@rom_function("__cxa_guard_abort", by_symbol=True)
def guard_abort(call: RomCall) -> None:
    """It was not made."""


@rom_function("__cxa_atexit", "atexit", by_symbol=True)
def at_exit(call: RomCall) -> int:
    """Nothing here ends as a program."""
    return 0
