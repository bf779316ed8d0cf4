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
from collections.abc import Callable
from typing import Protocol

from emu.board.board import Board
from emu.board.settings import BoardError

CHUNK = 16384
FULL = 0.003
"""Seconds between looks at a line that has no room."""

Change = Callable[[bytes], bytes]


def _same(data: bytes) -> bytes:
    return data


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
        self._is_dropped = False
        self._queued = b""

    def poke(self) -> None:
        """The guest may have sent something, or the pump shall end."""
        with contextlib.suppress(OSError):
            os.write(self._write_end, b"\0")

    def stop(self) -> None:
        """End the pump."""
        self._is_stopped = True
        self.poke()

    def drop(self) -> None:
        """Let the client go, as when a cable is pulled."""
        self._is_dropped = True
        self.poke()

    def close(self) -> None:
        """Give the pipe back."""
        os.close(self._read_end)
        os.close(self._write_end)

    def queue(self, data: bytes) -> None:
        """Bytes for the client that are not of the line; on the pump's thread."""
        self._queued += data

    def run(self, descriptor: int, decode: Change = _same, encode: Change = _same) -> None:
        """Copy until the client leaves or the pump is stopped. ``decode``, ``encode``: between them."""
        os.set_blocking(descriptor, False)
        line = self.board.line
        waiting_in = waiting_out = b""
        self._is_dropped = False
        while not self._is_stopped and not self._is_dropped:
            if not waiting_out:
                waiting_out, self._queued = self._queued + encode(line.fetch(CHUNK)), b""
            waiting_in = waiting_in[line.send(waiting_in) :] if waiting_in else b""
            readers = [self._read_end] if waiting_in else [self._read_end, descriptor]
            writers = [descriptor] if waiting_out else []
            readable, writable, _ = select.select(readers, writers, [], FULL if waiting_in else 1.0)
            if self._read_end in readable:
                os.read(self._read_end, 4096)
            try:
                if descriptor in readable:
                    data = os.read(descriptor, CHUNK)
                    if not data:
                        return
                    waiting_in = decode(data)
                if writable:
                    waiting_out = waiting_out[os.write(descriptor, waiting_out) :]
            except (BlockingIOError, InterruptedError):
                continue
            except OSError:
                return

    def drop_output(self) -> None:
        """Nobody is there."""
        while self.board.line.fetch(CHUNK):
            pass


def listen(host: str, port: int) -> tuple[socket.socket, int]:
    """A listening socket and its port. Raises BoardError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        made = socket.create_server((host, port), family=family, backlog=8)
    except OSError as error:
        raise BoardError(f"cannot listen on {host}:{port}: {error.strerror or error}") from None
    return made, int(made.getsockname()[1])


def next_client(server: socket.socket, pump: Pump) -> socket.socket | None:
    """Wait a moment for a client; output that comes before one is there is lost."""
    ready, _, _ = select.select([server], [], [], 0.05)
    if not ready:
        pump.drop_output()
        return None
    client, _address = server.accept()
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return client


class TcpServer:
    """``url``: what to give to pyserial. One client at a time; the next one waits until it has left."""

    scheme = "socket"

    def __init__(self, board: Board, port: int = 0, host: str = "127.0.0.1") -> None:
        """``port`` 0: any free one. Raises BoardError when it cannot be used."""
        self.pump = Pump(board)
        self._board = board
        self._socket, self.port = listen(host, port)
        self.url = f"{self.scheme}://{'localhost' if host == '127.0.0.1' else host}:{self.port}"
        self._is_stopped = False
        self._thread = threading.Thread(target=self._serve, name=self.scheme, daemon=True)

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
                    self.talk(client)

    def talk(self, client: socket.socket) -> None:
        """Serve one client until it leaves: bytes as they are."""
        self.pump.run(client.fileno())


class PtyServer:
    """A pseudo terminal in raw mode; ``url`` is its path."""

    def __init__(self, board: Board) -> None:
        """Raises BoardError when the system has no pseudo terminal left."""
        import tty

        self.pump = Pump(board)
        self._board = board
        try:
            self._master, self._slave = os.openpty()
        except OSError as error:
            raise BoardError(f"no pseudo terminal: {error.strerror or error}") from None
        tty.setraw(self._slave)
        self.url = os.ttyname(self._slave)
        self._thread = threading.Thread(target=self._serve, name="pty", daemon=True)

    def start(self) -> None:
        """Serve from now on."""
        self._board.add_listener(self.pump.poke)
        self._thread.start()

    def stop(self) -> None:
        """Serve nobody any more."""
        self.pump.stop()
        self._thread.join()
        os.close(self._master)
        os.close(self._slave)
        self.pump.close()

    def _serve(self) -> None:
        # The slave stays open here, so the master never sees an end; clients come and go.
        self.pump.run(self._master)
