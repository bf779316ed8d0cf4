"""SPI1, the controller that talks to the flash chip, and the chip's commands (chip reference manual, "SPI
Controller"; JEDEC command bytes).

Transactions that software composes (CMD.USR) and the controller's own flash commands are both done at once.
"""

from __future__ import annotations

from collections.abc import Callable

from emu.board.flash import BLOCK, BUSY, SECTOR, WRITE_ENABLED, Flash
from emu.board.registers import Registers

CMD, ADDR, CTRL, USER, USER1, USER2, MOSI_DLEN, MISO_DLEN, RD_STATUS = (
    0,
    4,
    8,
    0x18,
    0x1C,
    0x20,
    0x24,
    0x28,
    0x2C,
)
W0 = 0x58
WORDS = 16
USR = 1 << 18
USR_COMMAND, USR_ADDR, USR_DUMMY, USR_MISO, USR_MOSI = 1 << 31, 1 << 30, 1 << 29, 1 << 28, 1 << 27

_OWN = {
    31: 0x03,
    30: 0x06,
    29: 0x04,
    28: 0x9F,
    27: 0x05,
    26: 0x01,
    25: 0x02,
    24: 0x20,
    23: 0xD8,
    22: 0xC7,
    20: 0xAB,
}
"""Bits of CMD by which the controller sends a flash command itself: read, write enable, ..."""
_READS = (0x03, 0x0B, 0x3B, 0x6B, 0xBB, 0xEB, 0x13, 0x0C)


class FlashCommands:
    """What the flash chip does with a command."""

    def __init__(self, flash: Flash, unknown: Callable[[str], None]) -> None:
        self.flash = flash
        self._unknown = unknown

    def do(self, command: int, address: int, data: bytes, wanted: int) -> bytes:
        """Run a command; what the chip answers, ``wanted`` bytes."""
        flash = self.flash
        if command in _READS:
            return flash.read(address, wanted)
        answers = {
            0x9F: bytes(flash.id),
            0x05: bytes(
                (flash.status[0] & ~WRITE_ENABLED | (WRITE_ENABLED if flash.is_write_enabled else 0),)
            ),
            0x35: bytes((flash.status[1],)),
            0x15: bytes((flash.status[2],)),
            0x90: bytes(flash.id[i] for i in (0, 2)),
            0xAB: bytes((flash.id[2] - 1,)),
            0x4B: b"\x45\x4d\x55\x2d\x46\x4c\x41\x53\x48\x00\x00\x00\x00\x00\x00\x01",
            0x5A: b"\xff" * 256,
        }
        if command in answers:
            return (answers[command] * (wanted // len(answers[command]) + 1))[:wanted]
        self._change(command, address, data)
        return bytes(wanted)

    def _change(self, command: int, address: int, data: bytes) -> None:
        flash = self.flash
        if command in (0x06, 0x04):
            flash.is_write_enabled = command == 0x06
        elif command in (0x50, 0x66, 0x99, 0xB9, 0xE9, 0xB7, 0xFF):
            pass  # volatile status write enable, reset, power-down, address modes: nothing is left of them
        elif command in (0x02, 0x32, 0x12, 0x20, 0x52, 0xD8, 0x60, 0xC7, 0x01, 0x31, 0x11):
            if flash.is_write_enabled:
                self._write(command, address, data)
            flash.is_write_enabled = False
        else:
            self._unknown(f"flash command {command:#04x}")

    def _write(self, command: int, address: int, data: bytes) -> None:
        flash = self.flash
        sizes = {0x20: SECTOR, 0x52: BLOCK // 2, 0xD8: BLOCK}
        if command in (0x02, 0x32, 0x12):
            flash.program_page(address, data)
        elif command in sizes:
            flash.erase(address & -sizes[command], sizes[command])
        elif command in (0x60, 0xC7):
            flash.erase(0, flash.size)
        else:
            first = {0x01: 0, 0x31: 1, 0x11: 2}[command]
            for i, value in enumerate(data[: 3 - first]):
                flash.status[first + i] = value & ~BUSY


class Spi1(Registers):
    """The controller's registers."""

    def __init__(self, flash: Flash, unknown: Callable[[str], None]) -> None:
        plain = (
            ADDR,
            CTRL,
            0x0C,
            0x10,
            0x14,
            USER,
            USER1,
            USER2,
            MOSI_DLEN,
            MISO_DLEN,
            RD_STATUS,
            0x34,
            0x38,
        )
        plain = (
            *plain,
            *range(W0, W0 + 4 * WORDS, 4),
            *range(0x98, 0xC0, 4),
            0x3C,
            0x40,
            0x54,
            0xE0,
            0xDC,
            0x3FC,
        )
        super().__init__(0x60002000, {USER: USR_COMMAND, USER2: 0x70000000}, plain)
        self.commands = FlashCommands(flash, unknown)
        self.readers[CMD] = lambda: 0
        self.readers[0x54] = lambda: 0
        self.writers[CMD] = self._command

    def _word(self, offset: int) -> int:
        return self.values.get(offset, 0)

    def _buffer(self, size: int) -> bytes:
        words = b"".join(self._word(W0 + 4 * i).to_bytes(4, "little") for i in range(WORDS))
        return words[:size]

    def _answer(self, data: bytes) -> None:
        padded = data + bytes(-len(data) % 4)
        for i in range(0, len(padded), 4):
            self.values[W0 + i] = int.from_bytes(padded[i : i + 4], "little")

    def _command(self, value: int) -> None:
        if value & USR:
            self._transaction()
        for bit, command in _OWN.items():
            if value >> bit & 1:
                self._own(command)

    def _transaction(self) -> None:
        """A transaction as USER, USER1 and USER2 compose it."""
        user, user1 = self._word(USER), self._word(USER1)
        command = self._word(USER2) & 0xFFFF if user & USR_COMMAND else 0
        bits = (user1 >> 26 & 0x3F) + 1 if user & USR_ADDR else 0
        address = self._word(ADDR)
        if bits and bits != 32:
            address = address & ((1 << bits) - 1) if bits <= 24 else address
        sent = (self._word(MOSI_DLEN) & 0x3FF) + 1 if user & USR_MOSI else 0
        wanted = (self._word(MISO_DLEN) & 0x3FF) + 1 if user & USR_MISO else 0
        answer = self.commands.do(command & 0xFF, address, self._buffer(sent // 8), -(-wanted // 8))
        if wanted:
            self._answer(answer)

    def _own(self, command: int) -> None:
        """A flash command of the controller itself: the address in ADDR 23..0, a length in bits 31..24."""
        length, address = self._word(ADDR) >> 24, self._word(ADDR) & 0xFFFFFF
        if command == 0x03:
            self._answer(self.commands.do(command, address, b"", length))
        elif command == 0x02:
            self.commands.do(command, address, self._buffer(length), 0)
        elif command == 0x9F:
            self._answer(self.commands.do(command, 0, b"", 3))
        elif command == 0x05:
            self.values[RD_STATUS] = self.commands.do(command, 0, b"", 1)[0]
        elif command == 0x01:
            self.commands.do(command, 0, (self._word(RD_STATUS) & 0xFFFF).to_bytes(2, "little"), 0)
        else:
            self.commands.do(command, address, b"", 0)
