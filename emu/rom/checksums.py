"""CRCs of the ROM (ESP-IDF, components/esp_rom/include/esp_rom_crc.h): complemented before and after."""

from __future__ import annotations

from emu.rom.functions import RomCall, rom_function

_POLYNOMIALS = {8: 0x07, 16: 0x1021, 32: 0x04C11DB7}


def _reflected(value: int, bits: int) -> int:
    return int(format(value, f"0{bits}b")[::-1], 2)


def crc(bits: int, start: int, data: bytes, is_little: bool) -> int:
    """The ROM's CRC of ``data`` that goes on from ``start`` (0 at first)."""
    mask = (1 << bits) - 1
    value = ~start & mask
    polynomial = _reflected(_POLYNOMIALS[bits], bits) if is_little else _POLYNOMIALS[bits]
    for byte in data:
        value ^= byte if is_little else byte << (bits - 8)
        for _ in range(8):
            if is_little:
                value = value >> 1 ^ (polynomial if value & 1 else 0)
            else:
                value = (value << 1 ^ (polynomial if value >> (bits - 1) else 0)) & mask
    return ~value & mask


def _register(bits: int, suffix: str) -> None:
    @rom_function(f"crc{bits}_{suffix}", f"esp_rom_crc{bits}_{suffix}")
    def compute(call: RomCall) -> int:
        """``(crc, data, size)``."""
        return crc(bits, call[0], call.read(call[1], call[2]), suffix == "le")


for _bits in _POLYNOMIALS:
    _register(_bits, "le")
    _register(_bits, "be")
