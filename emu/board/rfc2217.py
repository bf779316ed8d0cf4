"""A board behind RFC 2217: telnet with the lines of a serial port, by pyserial's server side."""

from __future__ import annotations

import socket
from collections.abc import Iterable
from typing import Any

from serial.rfc2217 import PortManager

from emu.board.board import Board
from emu.board.modem import ModemLines
from emu.board.transport import Pump, TcpServer


class SerialSettings:
    """The serial port that PortManager sets up; only the lines mean something to a board."""

    def __init__(self, lines: ModemLines) -> None:
        self._lines = lines
        self.baudrate, self.bytesize, self.parity, self.stopbits = 115200, 8, "N", 1
        self.xonxoff = self.rtscts = self.break_condition = False
        self.cts = self.dsr = self.cd = True
        self.ri = False

    @property
    def dtr(self) -> bool:
        """The line."""
        return self._lines.dtr

    @dtr.setter
    def dtr(self, value: bool) -> None:
        self._lines.dtr = value

    @property
    def rts(self) -> bool:
        """The line."""
        return self._lines.rts

    @rts.setter
    def rts(self, value: bool) -> None:
        self._lines.rts = value

    def reset_input_buffer(self) -> None:
        """Nothing is buffered here."""

    def reset_output_buffer(self) -> None:
        """Nothing is buffered here."""


class _Replies:
    """Where PortManager writes telnet commands."""

    def __init__(self, pump: Pump) -> None:
        self._pump = pump

    def write(self, data: bytes) -> None:
        self._pump.queue(bytes(data))


class Rfc2217Server(TcpServer):
    """``url``: what to give to pyserial. One client at a time."""

    scheme = "rfc2217"

    def __init__(self, board: Board, port: int = 0, host: str = "127.0.0.1") -> None:
        """``port`` 0: any free one. Raises BoardError when it cannot be used."""
        super().__init__(board, port, host)
        self._lines = ModemLines(board)

    def talk(self, client: socket.socket) -> None:
        """Serve one client until it leaves: telnet, its commands set the lines."""
        manager: Any = PortManager(SerialSettings(self._lines), _Replies(self.pump))
        self.pump.run(
            client.fileno(),
            decode=lambda data: _joined(manager.filter(data)),
            encode=lambda data: data.replace(b"\xff", b"\xff\xff"),
        )


def _joined(pieces: Iterable[bytes]) -> bytes:
    return b"".join(pieces)
