"""Flash functions of the ROM (rom/spi_flash.h, rom/opi_flash.h). All give 0 for success, 1 for an error."""

from __future__ import annotations

import struct

from emu.board.flash import BLOCK, SECTOR
from emu.board.rom.common import giving, load_word, machine, store_word
from emu.rom.functions import RomCall, RomFunction

OK, ERROR = 0, 1
CHIP = 0x3FCEF640
"""rom_spiflash_legacy_data: chip id, sizes of chip, block, sector and page, status mask."""
LEGACY_FUNCTIONS = 0x3FCEF670
DATA_POINTER, FUNCTIONS_POINTER = 0x3FCEFFE4, 0x3FCEFFE8


def chip_data(flash_id: tuple[int, int, int], size: int) -> bytes:
    """The ROM's description of the chip, after it has asked for its number."""
    number = flash_id[0] << 16 | flash_id[1] << 8 | flash_id[2]
    return struct.pack("<IIIIII4x", number, size, BLOCK, SECTOR, 256, 0xFFFF)


def _fits(call: RomCall, address: int, size: int) -> bool:
    return address + size <= machine(call).flash.size


def _read(call: RomCall) -> int:
    """``(address, place, size)``"""
    if not _fits(call, call[0], call[2]):
        return ERROR
    call.write(call[1], machine(call).flash.read(call[0], call[2]))
    return OK


def _write(call: RomCall) -> int:
    """``(address, place, size)``"""
    if not _fits(call, call[0], call[2]):
        return ERROR
    machine(call).flash.program(call[0], call.read(call[1], call[2]))
    return OK


def _erase(call: RomCall, unit: int) -> int:
    """``(number of the sector or block)``"""
    if not _fits(call, call[0] * unit, unit):
        return ERROR
    machine(call).flash.erase(call[0] * unit, unit)
    return OK


def _erase_area(call: RomCall) -> int:
    """``(address, size)``"""
    if not _fits(call, call[0], call[1]):
        return ERROR
    machine(call).flash.erase(call[0], call[1])
    return OK


def _erase_chip(call: RomCall) -> int:
    flash = machine(call).flash
    flash.erase(0, flash.size)
    return OK


def _parameters(call: RomCall) -> int:
    """``(id, chip size, block size, sector size, page size, status mask)``"""
    call.write(CHIP, struct.pack("<IIIIII", *call.guest.arguments(6)))
    return OK


def _update_id(call: RomCall) -> int:
    number = machine(call).flash.id
    store_word(call, CHIP, number[0] << 16 | number[1] << 8 | number[2])
    return OK


def _enable(call: RomCall) -> int:
    machine(call).flash.is_write_enabled = True
    return OK


def _status(call: RomCall, which: int) -> int:
    """``(chip, place)``"""
    store_word(call, call[1], machine(call).flash.status[which])
    return OK


def _execute(call: RomCall) -> int:
    """``esp_rom_opiflash_exec_cmd``: one transaction on the flash's bus.

    ``(controller, mode, command, its bits, address, its bits, dummy bits, out, its bits, in, its bits, chip
    select mask, is a write)``.
    """
    words = call.guest.arguments(13)
    command, address, out, out_bits, place, in_bits = words[2], words[4], *words[7:11]
    sent = call.read(out, out_bits // 8) if out and out_bits else b""
    answer = machine(call).spi.commands.do(command & 0xFF, address, sent, -(-in_bits // 8))
    if place and in_bits:
        call.write(place, answer)
    return OK


def _open_legacy(call: RomCall) -> int:
    """``esp_rom_opiflash_legacy_driver_init(commands)``: the pointer is only looked at."""
    load_word(call, call[0])
    return OK


FUNCTIONS: dict[str, RomFunction] = {
    "esp_rom_spiflash_read": _read,
    "esp_rom_spiflash_write": _write,
    "esp_rom_spiflash_erase_sector": lambda call: _erase(call, SECTOR),
    "esp_rom_spiflash_erase_block": lambda call: _erase(call, BLOCK),
    "esp_rom_spiflash_erase_area": _erase_area,
    "esp_rom_spiflash_erase_chip": _erase_chip,
    "esp_rom_spiflash_unlock": giving(OK),
    "esp_rom_spiflash_lock": giving(OK),
    "esp_rom_spiflash_wait_idle": giving(OK),
    "esp_rom_spiflash_config_param": _parameters,
    "esp_rom_spiflash_config_readmode": giving(OK),
    "esp_rom_spiflash_config_clk": giving(OK),
    "esp_rom_spiflash_read_status": lambda call: _status(call, 0),
    "esp_rom_spiflash_read_statushigh": lambda call: _status(call, 1),
    "esp_rom_spiflash_write_status": giving(OK),
    "esp_rom_spi_flash_update_id": _update_id,
    "SPI_write_enable": _enable,
    "spi_flash_attach": giving(OK),
    "esp_rom_opiflash_exec_cmd": _execute,
    "esp_rom_opiflash_wait_idle": giving(OK),
    "esp_rom_opiflash_wren": _enable,
    "esp_rom_opiflash_erase_sector": lambda call: _erase(call, SECTOR),
    "esp_rom_opiflash_erase_block_64k": lambda call: _erase(call, BLOCK),
    "esp_rom_opiflash_legacy_driver_init": _open_legacy,
}
