"""The server: one listening socket on the loopback interface, one client at a time."""

from __future__ import annotations

import select
import socket
from collections.abc import Callable
from dataclasses import dataclass, field

from emu.debug.gdb.commands import Commands, Reply, Resume
from emu.debug.gdb.inferior import Inferior
from emu.debug.gdb.packets import Event, Kind, Parser, frame

LOOPBACK = "127.0.0.1"
"""Whoever can connect can read and write the guest, so nobody else's machine can."""


@dataclass
class _Client:
    """One connection; ``waiting``: events that arrived and have not been answered yet."""

    connection: socket.socket
    parser: Parser = field(default_factory=Parser)
    waiting: list[Event] = field(default_factory=list)
    acks: bool = True
    last: bytes = b""
    is_gone: bool = False

    def receive(self, timeout: float | None) -> None:
        """Take in what has arrived within ``timeout`` seconds (None: wait for something)."""
        ready, _, _ = select.select([self.connection], [], [], timeout)
        if not ready:
            return
        try:
            data = self.connection.recv(1 << 16)
        except OSError:
            data = b""
        if not data:
            self.is_gone = True
        self.waiting += self.parser.feed(data)

    def send(self, data: bytes) -> None:
        """Send raw bytes; a client that is gone is noticed and nothing more."""
        try:
            self.connection.sendall(data)
        except OSError:
            self.is_gone = True

    def send_packet(self, data: bytes) -> None:
        """Send one packet and keep it for a repetition."""
        self.last = frame(data)
        self.send(self.last)


class Server:
    """Serves one program until it is killed. Use as a context manager; ``port`` is the bound one."""

    def __init__(self, inferior: Inferior, port: int = 0, log: Callable[[str], None] = print) -> None:
        """Bind to ``port`` (0: a free one). Raises OSError when it is taken."""
        self.inferior = inferior
        self.commands = Commands(inferior)
        self.log = log
        self._client: _Client | None = None
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self._socket.bind((LOOPBACK, port))
            self._socket.listen(1)
        except OSError:
            self._socket.close()
            raise
        self.port = int(self._socket.getsockname()[1])
        inferior.say = self._say

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def serve(self, once: bool = False) -> None:
        """Serve clients, one after the other, until the program is killed, or (``once``) a client leaves.

        A client that vanishes leaves the program where it is; one that detaches lets it run to its end.
        """
        is_killed = False
        while not is_killed:
            connection, _ = self._socket.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with connection:
                is_killed = self._serve_client(_Client(connection)) or once

    def _serve_client(self, client: _Client) -> bool:
        """True when the client killed the program, or let it run to its end."""
        self._client = client
        try:
            while not client.is_gone:
                while client.waiting:
                    reply = self._handle(client, client.waiting.pop(0))
                    if reply is not None and reply.leaves:
                        return self._leave(reply)
                client.receive(None)
            return self.inferior.is_over
        finally:
            self._client = None

    def _leave(self, reply: Reply) -> bool:
        if not reply.kills:
            self._client = None
            self.inferior.breakpoints = {kind: set() for kind in self.inferior.breakpoints}
            self.inferior.watches.clear()
            self.inferior.is_traced = False
            self.inferior.resume()
        return True

    def _handle(self, client: _Client, event: Event) -> Reply | None:
        if event.kind is Kind.NAK:
            client.send(client.last)
        elif event.kind is Kind.DAMAGED and client.acks:
            client.send(b"-")
        elif event.kind is Kind.PACKET:
            if client.acks:
                client.send(b"+")
            return self._answer(client, event.data)
        return None

    def _answer(self, client: _Client, data: bytes) -> Reply | None:
        answer = self.commands.answer(data)
        if isinstance(answer, Resume):
            stop = self.inferior.resume(lambda: self._interrupted(client), answer.is_step, answer.within)
            client.send_packet(self.commands.stop_text(stop))
            return None
        if not (answer.kills and not answer.data):
            client.send_packet(answer.data)
        if answer.no_ack:
            client.acks = False
        return answer

    def _interrupted(self, client: _Client) -> bool:
        """True when the client asks the running program to stop, or is gone."""
        client.receive(0)
        requests = [e for e in client.waiting if e.kind is Kind.INTERRUPT]
        for event in requests:
            client.waiting.remove(event)
        return bool(requests) or client.is_gone

    def _say(self, text: str) -> None:
        """Text for the user: to the debugger's console while one is there, else to the terminal."""
        if self._client is None:
            self.log(text)
        else:
            self._client.send(frame(b"O" + f"{text}\n".encode().hex().encode()))
