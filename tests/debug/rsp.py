"""A small client of the GDB remote serial protocol, and a server to talk to."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from emu.cpu.engine import Engine
from emu.cpu.options import EngineOptions
from emu.debug.calls import Call, Started, start
from emu.debug.gdb.inferior import Inferior
from emu.debug.gdb.packets import frame, unescape
from emu.debug.gdb.registers import by_name
from emu.debug.gdb.server import Server
from emu.image import load_image

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "firmware" / "esp32s3-bare.elf"
TIMEOUT = 60
TIER = ["stepper"]
"""The tier of served engines; a fixture sets it."""


class Client:
    """Speaks packets; ``console`` collects what the server says to the user."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), TIMEOUT)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.stream = self.socket.makefile("rb")
        self.console = ""
        self.acks = True

    def ask(self, text: str | bytes) -> str:
        """Send a packet, return the content of the reply."""
        self.send(text)
        return self.reply().decode("latin-1")

    def send(self, text: str | bytes) -> None:
        self.socket.sendall(frame(text.encode("latin-1") if isinstance(text, str) else text))

    def raw(self, data: bytes) -> None:
        self.socket.sendall(data)

    def reply(self) -> bytes:
        """The next packet that is no console output."""
        while True:
            data = self.packet()
            if data[:1] == b"O" and data != b"OK":
                self.console += bytes.fromhex(data[1:].decode()).decode()
                continue
            return data

    def packet(self) -> bytes:
        while (byte := self.byte()) != b"$":
            assert byte in b"+-", byte
        body = b""
        while (byte := self.byte()) != b"#":
            body += byte
        digits = self.byte() + self.byte()
        assert int(digits, 16) == sum(body) & 0xFF
        if self.acks:
            self.socket.sendall(b"+")
        return unescape(body)

    def byte(self) -> bytes:
        byte = self.stream.read(1)
        if not byte:
            raise ConnectionError("the server has closed the connection")
        return byte

    def register(self, name: str) -> int:
        """Value of a register, read with p."""
        return int.from_bytes(bytes.fromhex(self.ask(f"p{by_name()[name].number:x}")), "little")

    def memory(self, address: int, size: int) -> bytes:
        return bytes.fromhex(self.ask(f"m{address:x},{size:x}"))

    def monitor(self, text: str) -> str:
        return bytes.fromhex(self.ask("qRcmd," + text.encode().hex())).decode()

    def close(self) -> None:
        self.stream.close()
        self.socket.close()


class Session:
    """A served engine. ``log``: what the server said while nobody was connected."""

    def __init__(self, engine: Engine, started: Started | None) -> None:
        self.engine = engine
        self.started = started
        self.log: list[str] = []
        self.server = Server(Inferior(engine, started), 0, self.log.append)
        self.trouble: BaseException | None = None
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _serve(self) -> None:
        try:
            self.server.serve()
        except BaseException as error:
            self.trouble = error

    def client(self) -> Client:
        return Client(self.server.port)

    def kill(self) -> None:
        """End the server in the way of a debugger."""
        client = self.client()
        client.send("k")
        self.thread.join(TIMEOUT)
        client.close()
        assert not self.thread.is_alive()

    def join(self) -> None:
        """Wait for the server to end by itself."""
        self.thread.join(TIMEOUT)
        assert not self.thread.is_alive()
        assert self.trouble is None, self.trouble


def engine_for(exceptions: str = "built-in") -> Engine:
    return Engine(load_image(GOLDEN), EngineOptions(tier=TIER[0], exceptions=exceptions))


@contextmanager
def served(call: Call | None = None, exceptions: str = "") -> Iterator[tuple[Session, Client]]:
    """A session and one client; the server must be alive, or have ended in order, when the test is over."""
    engine = engine_for(exceptions or ("built-in" if call else "vectors"))
    if call is None:
        engine.state.PC = engine.image.entry
    session = Session(engine, start(engine, call) if call else None)
    client = session.client()
    try:
        yield session, client
        assert session.trouble is None, session.trouble
    finally:
        client.close()
        if session.thread.is_alive():
            session.kill()
        session.server.__exit__()
