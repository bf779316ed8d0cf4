"""A board behind RFC 2217: telnet with the lines of a serial port, by pyserial's server side."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterable
from typing import Any

from serial.rfc2217 import PortManager

from emu.board.board import Board
from emu.board.modem import ModemLines
from emu.board.transport import Pump, listen, next_client


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


class Rfc2217Server:
    """``url``: what to give to pyserial. One client at a time."""

    def __init__(self, board: Board, port: int = 0, host: str = "127.0.0.1") -> None:
        """``port`` 0: any free one. Raises BoardError when it cannot be used."""
        self._board = board
        self.pump = Pump(board)
        self._socket, self.port = listen(host, port)
        self.url = f"rfc2217://{'localhost' if host == '127.0.0.1' else host}:{self.port}"
        self._lines = ModemLines(board)
        self._is_stopped = False
        self._thread = threading.Thread(target=self._serve, name="rfc2217", daemon=True)

    def start(self) -> None:
        """Serve from now on."""
        self._board.add_listener(self.pump.poke)
        self._thread.start()

    def stop(self) -> None:
        """Serve nobody any more."""
        self._is_stopped = True
        self.pump.stop()
        self._thread.join()
        self._socket.close()
        self.pump.close()

    def _serve(self) -> None:
        while not self._is_stopped:
            client = next_client(self._socket, self.pump)
            if client is not None:
                with client:
                    self._talk(client)

    def _talk(self, client: socket.socket) -> None:
        manager: Any = PortManager(SerialSettings(self._lines), _Replies(self.pump))
        self.pump.run(
            client.fileno(),
            decode=lambda data: _joined(manager.filter(data)),
            encode=lambda data: data.replace(b"\xff", b"\xff\xff"),
        )


def _joined(pieces: Iterable[bytes]) -> bytes:
    return b"".join(pieces)
