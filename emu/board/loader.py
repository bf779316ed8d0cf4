"""The ROM's download mode: the serial protocol that esptool speaks (its documentation, "Serial Protocol").

The host plays the ROM: what a command asks for is done to the memory, devices and flash. A packet
is ``direction, command, size, checksum, data``; a reply ends with four status bytes.
"""

from __future__ import annotations

import hashlib
import struct
import time
import zlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from emu.board.flash import SECTOR
from emu.board.rom.system import security_info
from emu.board.slip import Decoder, encode
from emu.cpu.memory import MemoryFault

if TYPE_CHECKING:
    from emu.board.board import Board

SYNC_VALUE = 0x20120707
"""What the ROM answers to SYNC; a stub answers 0."""
SYNC_REPLIES = 8
CHECKSUM_SEED = 0xEF
INVALID, FAILED, BAD_CHECKSUM, FLASH_WRITE, FLASH_READ, FLASH_LENGTH, DEFLATE = range(5, 12)
"""Reasons in the second status byte."""
FASTEST = 5_000_000


class Refused(Exception):
    """A command that cannot be done; the reason goes into the reply."""

    def __init__(self, reason: int) -> None:
        super().__init__(f"error {reason}")
        self.reason = reason


class Loader:
    """Waits for commands and does them."""

    name = "download"

    def __init__(self, board: Board) -> None:
        self._board = board
        self._machine = board.machine
        self._decoder = Decoder()
        self._after: Callable[[], None] | None = None
        self._value = 0
        self._place = 0
        """Where the next block goes."""
        self._left = 0
        self._inflate = zlib.decompressobj()
        self._commands: dict[int, Callable[[bytes], bytes]] = {
            0x02: self._flash_begin,
            0x03: self._flash_data,
            0x04: self._flash_end,
            0x05: self._mem_begin,
            0x06: self._mem_end,
            0x07: self._mem_data,
            0x08: lambda data: b"",
            0x09: self._write_register,
            0x0A: self._read_register,
            0x0B: self._set_parameters,
            0x0D: lambda data: b"",
            0x0E: self._read_flash,
            0x0F: self._change_baud,
            0x10: self._defl_begin,
            0x11: self._defl_data,
            0x12: self._flash_end,
            0x13: self._md5,
            0x14: self._security,
        }

    def turn(self) -> None:
        """Do the commands that have arrived, or wait for one."""
        data = self._board.line.rom_read()
        if not data:
            self._board.wait(0.5)
            return
        self._pace(len(data))
        for packet in self._decoder.feed(data):
            self._packet(packet)
            if self._after is not None:
                after, self._after = self._after, None
                after()
                return

    def _packet(self, packet: bytes) -> None:
        if len(packet) < 8 or packet[0] != 0:
            return
        _, command, size, checksum = struct.unpack("<BBHI", packet[:8])
        data = packet[8:]
        self._value = 0
        try:
            if command not in self._commands or size != len(data):
                raise Refused(INVALID)
            if command in (0x03, 0x07, 0x11):
                data = _block(data, checksum)
            answer, status = self._commands[command](data), b"\0\0\0\0"
        except Refused as refused:
            answer, status = b"", bytes((1, refused.reason, 0, 0))
        except (MemoryFault, struct.error):
            answer, status = b"", bytes((1, FAILED, 0, 0))
        value = SYNC_VALUE if command == 0x08 else self._value
        reply = struct.pack("<BBHI", 1, command, len(answer) + 4, value) + answer + status
        for _ in range(SYNC_REPLIES if command == 0x08 else 1):
            self._send(encode(reply))

    def _send(self, data: bytes) -> None:
        self._pace(len(data))
        while data and not self._board.is_stopping:
            data = data[self._board.line.rom_write(data) :]
            self._board.on_output()
            if data:
                time.sleep(0.001)

    def _pace(self, count: int) -> None:
        if self._board.settings.paced and self._board.settings.console == "uart":
            time.sleep(count * 10 / self._machine.uart.baud)

    # --- memory -------------------------------------------------------------------------------------------
    def _mem_begin(self, data: bytes) -> bytes:
        size, _blocks, _block_size, self._place = struct.unpack("<IIII", data[:16])
        self._left = size
        return b""

    def _mem_data(self, data: bytes) -> bytes:
        if len(data) > self._left:
            raise Refused(FAILED)
        self._machine.memory.write(self._place, data)
        self._place += len(data)
        self._left -= len(data)
        return b""

    def _mem_end(self, data: bytes) -> bytes:
        stays, entry = struct.unpack("<II", data[:8])
        if not stays:
            self._after = lambda: self._board.enter(entry)
        return b""

    def _write_register(self, data: bytes) -> bytes:
        address, value, mask, _delay = struct.unpack("<IIII", data[:16])
        if mask != 0xFFFFFFFF:
            value = self._machine.memory.load(address, 4) & ~mask | value & mask
        self._machine.memory.store(address, 4, value)
        return b""

    def _read_register(self, data: bytes) -> bytes:
        self._value = self._machine.memory.load(struct.unpack("<I", data[:4])[0], 4)
        return b""

    # --- flash --------------------------------------------------------------------------------------------
    def _flash_begin(self, data: bytes) -> bytes:
        size, _blocks, _block_size, offset = struct.unpack("<IIII", data[:16])
        self._check_range(offset, size)
        if size:
            self._board.flash.erase(offset, -(-(offset % SECTOR + size) // SECTOR) * SECTOR)
        self._place, self._left = offset, size
        return b""

    def _flash_data(self, data: bytes) -> bytes:
        self._check_range(self._place, len(data))
        self._board.flash.program(self._place, data)
        self._place += len(data)
        return b""

    def _flash_end(self, data: bytes) -> bytes:
        """0: reset; 1: run what is in flash."""
        (runs,) = struct.unpack("<I", data[:4])
        self._after = self._board.run_from_flash if runs else self._board.reset
        return b""

    def _defl_begin(self, data: bytes) -> bytes:
        self._inflate = zlib.decompressobj()
        return self._flash_begin(data)

    def _defl_data(self, data: bytes) -> bytes:
        try:
            plain = self._inflate.decompress(data)
        except zlib.error:
            raise Refused(DEFLATE) from None
        return self._flash_data(plain[: max(self._left, 0)]) if plain else b""

    def _set_parameters(self, data: bytes) -> bytes:
        struct.unpack("<IIIIII", data[:24])
        return b""

    def _read_flash(self, data: bytes) -> bytes:
        offset, length = struct.unpack("<II", data[:8])
        if length > 64:
            raise Refused(FLASH_LENGTH)
        self._check_range(offset, length)
        return self._board.flash.read(offset, length).ljust(64, b"\0")

    def _md5(self, data: bytes) -> bytes:
        offset, size, _, _ = struct.unpack("<IIII", data[:16])
        self._check_range(offset, size)
        return hashlib.md5(self._board.flash.read(offset, size)).hexdigest().encode()

    def _check_range(self, offset: int, size: int) -> None:
        if offset + size > self._board.flash.size:
            raise Refused(FAILED)

    # --- the rest -----------------------------------------------------------------------------------------
    def _change_baud(self, data: bytes) -> bytes:
        baud = struct.unpack("<I", data[:4])[0]
        if not 0 < baud <= FASTEST:
            raise Refused(FAILED)
        self._after = lambda: self._machine.uart.set_baud(baud)
        return b""

    def _security(self, _data: bytes) -> bytes:
        return security_info()


def _block(data: bytes, checksum: int) -> bytes:
    """The bytes of a data command, checked."""
    if len(data) < 16:
        raise Refused(INVALID)
    (size,) = struct.unpack("<I", data[:4])
    block = data[16:]
    found = CHECKSUM_SEED
    for value in block:
        found ^= value
    if size != len(block):
        raise Refused(INVALID)
    if found != checksum & 0xFF:
        raise Refused(BAD_CHECKSUM)
    return block
