"""Resets, delays, clocks and eFuses of the ROM (rom/ets_sys.h, rom/rtc.h, rom/efuse.h)."""

from __future__ import annotations

import struct

from emu.board.chip import APB_HZ, CHIP_ID, CPU_HZ, XTAL_HZ, Reset
from emu.board.rom.common import giving, machine
from emu.rom.functions import RomCall, RomFunction


def _delay(call: RomCall) -> None:
    """``(microseconds)``: time passes at no instruction."""
    machine(call).pass_time(call[0] * (CPU_HZ // 1_000_000))


def _reset_all(call: RomCall) -> None:
    machine(call).request_reset(Reset.RTC_SW_SYS)


def _reset_cpu(call: RomCall) -> None:
    machine(call).request_reset(Reset.RTC_SW_CPU)


def _cause(call: RomCall) -> int:
    """``rtc_get_reset_reason(core)``"""
    return int(machine(call).rtc.cause[call[0] & 1])


def _security(call: RomCall) -> int:
    """``(_, _, place)``: as GET_SECURITY_INFO of the loader."""
    call.write(call[2], security_info())
    return 0


def security_info() -> bytes:
    """Flags, encryption counter, key purposes, chip, version: nothing is locked."""
    return struct.pack("<IB7sII", 0, 0, bytes(7), CHIP_ID, 0)


def _start_core1(call: RomCall) -> None:
    """``ets_set_appcpu_boot_addr(address)``: where core 1 begins when it is let out of its reset."""
    machine(call).set_core1_entry(call[0])


FUNCTIONS: dict[str, RomFunction] = {
    "ets_delay_us": _delay,
    "software_reset": _reset_all,
    "software_reset_cpu": _reset_cpu,
    "rtc_get_reset_reason": _cause,
    "ets_set_appcpu_boot_addr": _start_core1,
    "ets_set_user_start": giving(0),
    "ets_get_cpu_frequency": giving(CPU_HZ // 1_000_000),
    "ets_update_cpu_frequency": giving(0),
    "ets_get_xtal_freq": giving(XTAL_HZ),
    "ets_get_apb_freq": giving(APB_HZ),
    "ets_efuse_get_spiconfig": giving(0),
    "ets_efuse_flash_octal_mode": giving(0),
    "gpio_pad_select_gpio": giving(0),
    "gpio_pad_pullup": giving(0),
    "rom_i2c_writeReg": giving(0),
    "rom_i2c_writeReg_Mask": giving(0),
    "rom_i2c_readReg": giving(0),
    "rom_i2c_readReg_Mask": giving(0),
}

ADDRESSES: dict[int, RomFunction] = {
    0x40048174: _security,
    0x40005D60: giving(0),
    0x40005D6C: giving(0),
}
"""Functions without a public symbol: GetSecurityInfoProc; writes to analogue registers (esp-stub-lib names
them)."""
