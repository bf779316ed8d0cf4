"""What a board can be told."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from emu.cpu.map import MIB

Console = Literal["uart", "usb"]
DEFAULT_MAC = bytes.fromhex("02e53300a001")
"""A locally administered address: no vendor's."""


class BoardError(Exception):
    """Something that a board was asked for and cannot do."""


@dataclass(frozen=True)
class Settings:
    """Choices of one board.

    ``elf``: an image that is put into memory at each reset, in place of what the ROM would load from flash.
    ``flash``: file that keeps the flash chip's contents (None: lost at the end); ``flash_bytes``,
    ``psram_bytes``: sizes of the chips. ``mac``: 6 bytes. ``console``: what the transport is connected to.
    ``paced``: bytes take their time on the wire, emulated time does not run ahead of the clock on the wall,
    and FIFOs overflow as on the chip; else the wire is ideal. ``download``: resets enter download mode.
    ``tier``: as EngineOptions. ``seed``: of the random number generator, None for real randomness.
    ``cache_dir``: of translated code.
    """

    elf: Path | None = None
    flash: Path | None = None
    flash_bytes: int = 8 * MIB
    psram_bytes: int = 8 * MIB
    mac: bytes = DEFAULT_MAC
    console: Console = "uart"
    paced: bool = False
    download: bool = False
    tier: Literal["translator", "stepper"] = "translator"
    seed: int | None = None
    cache_dir: Path | None = field(default=None)


def parse_mac(text: str) -> bytes:
    """Six bytes of ``aa:bb:cc:dd:ee:ff``. Raises BoardError."""
    parts = text.replace("-", ":").split(":")
    try:
        mac = bytes(int(part, 16) for part in parts)
    except ValueError:
        mac = b""
    if len(mac) != 6 or any(len(part) != 2 for part in parts):
        raise BoardError(f"MAC address {text!r}: six bytes like 02:e5:33:00:a0:01 are needed")
    if mac[0] & 1:
        raise BoardError(f"MAC address {text!r} is a group address (bit 0 of its first byte is set)")
    return mac
