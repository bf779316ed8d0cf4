"""How programs on the host reach a board: a TCP port for pyserial's socket://, or a pseudo terminal.

A transport copies bytes between a file descriptor and the board's line on a thread of its own. When a client
leaves, the board goes on; the next one is served.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import threading
from typing import Protocol

from emu.board.board import Board
from emu.board.settings import BoardError

CHUNK = 16384


class Transport(Protocol):
    """Something that serves clients of a board."""

    url: str

    def start(self) -> None:
        """Serve from now on."""

    def stop(self) -> None:
        """Serve nobody any more."""


class Pump:
    """Bytes both ways between a descriptor and a line, until either ends.

    Output that comes while nobody is connected is lost, as on a wire that ends nowhere.
    """

    def __init__(self, board: Board) -> None:
        self.board = board
        self._read_end, self._write_end = os.pipe()
        os.set_blocking(self._write_end, False)
        self._is_stopped = False

    def poke(self) -> None:
        """The guest may have sent something, or the pump shall end."""
        with contextlib.suppress(BlockingIOError, OSError):
            os.write(self._write_end, b"\0")

    def stop(self) -> None:
        """End the pump."""
        self._is_stopped = True
        self.poke()

    def close(self) -> None:
        """Give the pipe back."""
        os.close(self._read_end)
        os.close(self._write_end)

    def run(self, descriptor: int) -> bool:
        """Copy until the client leaves (True) or the pump is stopped (False)."""
        os.set_blocking(descriptor, False)
        line = self.board.line
        waiting_in, waiting_out = b"", b""
        while not self._is_stopped:
            waiting_out = waiting_out or line.fetch(CHUNK)
            if waiting_in:
                waiting_in = waiting_in[line.send(waiting_in) :]
            readers = [self._read_end] if waiting_in else [self._read_end, descriptor]
            writers = [descriptor] if waiting_out else []
            readable, writable, _ = select.select(readers, writers, [], 0.005 if waiting_in else 1.0)
            if self._read_end in readable:
                os.read(self._read_end, 4096)
            try:
                if descriptor in readable:
                    waiting_in = os.read(descriptor, CHUNK)
                    if not waiting_in:
                        return True
                if writable:
                    waiting_out = waiting_out[os.write(descriptor, waiting_out) :]
            except (BlockingIOError, InterruptedError):
                continue
            except OSError:
                return True
        return False

    def drop_output(self) -> None:
        """Nobody is there."""
        while self.board.line.fetch(CHUNK):
            pass


class TcpServer:
    """``url``: what to give to pyserial. One client at a time; the next one waits until it has left."""

    def __init__(self, board: Board, port: int = 0, host: str = "127.0.0.1") -> None:
        """``port`` 0: any free one. Raises BoardError when it cannot be used."""
        self._pump = Pump(board)
        self._board = board
        try:
            self._socket = socket.create_server((host, port), family=_family(host), backlog=8)
        except OSError as error:
            raise BoardError(f"cannot listen on {host}:{port}: {error.strerror or error}") from None
        self.host, self.port = host, int(self._socket.getsockname()[1])
        self.url = f"socket://{'localhost' if host == '127.0.0.1' else host}:{self.port}"
        self._is_stopped = False
        self._thread = threading.Thread(target=self._serve, name="tcp", daemon=True)

    def start(self) -> None:
        """Serve from now on."""
        self._board.on_output = self._pump.poke
        self._thread.start()

    def stop(self) -> None:
        """Serve nobody any more."""
        self._is_stopped = True
        self._pump.stop()
        self._thread.join()
        self._socket.close()
        self._pump.close()

    def _serve(self) -> None:
        while not self._is_stopped:
            ready, _, _ = select.select([self._socket], [], [], 0.05)
            if not ready:
                self._pump.drop_output()
                continue
            client, _address = self._socket.accept()
            with client:
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._pump.run(client.fileno())


class PtyServer:
    """A pseudo terminal in raw mode; ``url`` is its path, which ``link`` can also name."""

    def __init__(self, board: Board) -> None:
        import tty

        self._pump = Pump(board)
        self._board = board
        self._master, self._slave = os.openpty()
        tty.setraw(self._slave)
        self.url = os.ttyname(self._slave)
        self._thread = threading.Thread(target=self._serve, name="pty", daemon=True)

    def start(self) -> None:
        """Serve from now on."""
        self._board.on_output = self._pump.poke
        self._thread.start()

    def stop(self) -> None:
        """Serve nobody any more."""
        self._pump.stop()
        self._thread.join()
        os.close(self._master)
        os.close(self._slave)
        self._pump.close()

    def _serve(self) -> None:
        # The slave stays open here, so the master never sees an end; clients come and go.
        self._pump.run(self._master)


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET
