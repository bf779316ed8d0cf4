"""The agent's portable core, compiled for this machine and served on a loopback port."""

from __future__ import annotations

import contextlib
import ctypes
import select
import socket
import subprocess
import sys
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "firmware"))

import host_library

FIRMWARE = host_library.FIRMWARE
HERE = Path(__file__).resolve().parent
FOLDERS = ("numerics", "kernels", "models", "agent")


def sources(firmware: Path = FIRMWARE) -> list[str]:
    """Everything that the library is made of."""
    found = [
        path for folder in FOLDERS for path in (firmware / folder).glob("*.c") if path.name != "memory.c"
    ]
    extra = [HERE.parent / "firmware" / "host_vectors.c", HERE / "host_port.c"]
    return sorted(map(str, found)) + list(map(str, extra))


def includes(firmware: Path = FIRMWARE) -> list[str]:
    """-I flags."""
    return [f"-I{firmware / name}" for name in ("include", *FOLDERS)]


def build(out: Path, firmware: Path = FIRMWARE) -> Path:
    """Compile to the shared library ``out``."""
    command = [host_library.host_compiler(), *host_library.FLAGS, "-shared", "-fPIC", *includes(firmware)]
    subprocess.run([*command, *sources(firmware), "-o", str(out)], check=True)
    return out


class HostAgent:
    """One agent; a library holds one agent only, so each needs a file of its own."""

    def __init__(
        self, library: Path, sram: int = 1 << 20, psram: int = 1 << 20, model: bytes = bytes(64)
    ) -> None:
        self.library = ctypes.CDLL(str(library))
        self.guard = 4096
        self._portion = ctypes.create_string_buffer(1 << 14)
        self.memory = [self._aligned(sram), self._aligned(psram), self._aligned(-(-len(model) // 16) * 16)]
        self.memory[2][self.guard : self.guard + len(model)] = model
        places = [ctypes.addressof(ctypes.c_char.from_buffer(m, self.guard)) for m in self.memory]
        sizes = [len(m) - 2 * self.guard for m in self.memory]
        self.library.host_memory(
            *[x for p, n in zip(places, sizes, strict=True) for x in (ctypes.c_void_p(p), n)]
        )
        self.start()

    def _aligned(self, size: int) -> memoryview:
        whole = bytearray(b"\xa5" * (size + 2 * self.guard + 4096))
        start = -ctypes.addressof(ctypes.c_char.from_buffer(whole)) % 4096
        return memoryview(whole)[start : start + size + 2 * self.guard]

    def start(self, reason: int = 0) -> None:
        """Power on, or start after a fault."""
        self.library.host_start(reason)

    def put(self, data: bytes) -> bytes:
        """Give it bytes, let it work, take its answer."""
        self.library.host_put(data, len(data))
        self.library.host_work()
        return self.take()

    def take(self) -> bytes:
        """What it has sent."""
        found = b""
        while n := self.library.host_take(self._portion, len(self._portion)):
            found += self._portion[:n]
        return found

    def guards_intact(self) -> bool:
        """Nothing was written around its regions."""
        edges = [bytes(m[: self.guard]) + bytes(m[len(m) - self.guard :]) for m in self.memory]
        return all(edge == b"\xa5" * len(edge) for edge in edges)


class Server:
    """Serves an agent at ``url``, one connection at a time, until closed."""

    def __init__(self, agent: HostAgent) -> None:
        self.agent = agent
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._wake, self._stop = socket.socketpair()
        self.port = self._listener.getsockname()[1]
        self.url = f"socket://127.0.0.1:{self.port}"
        self._resets = 0
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        connection: socket.socket | None = None
        while True:
            ready, _, _ = select.select(
                [self._listener, self._wake, *([connection] if connection else [])], [], []
            )
            if self._wake in ready:
                if self._wake.recv(1) == b"x":
                    break
                self._reset(connection)
                continue
            if self._listener in ready:
                if connection is not None:
                    connection.close()
                connection = self._listener.accept()[0]
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            elif connection is not None:
                connection = self._pass(connection)
        for open_socket in (self._listener, self._wake, connection):
            if open_socket is not None:
                open_socket.close()

    def _pass(self, connection: socket.socket) -> socket.socket | None:
        try:
            data = connection.recv(65536)
            if not data:
                raise ConnectionResetError
            connection.sendall(self.agent.put(data))
            return connection
        except OSError:
            connection.close()
            return None

    def _reset(self, connection: socket.socket | None) -> None:
        self.agent.start()
        said = self.agent.take()
        if connection is not None:
            with contextlib.suppress(OSError):
                connection.sendall(b"ESP-ROM:esp32s3-20210327\r\nrst:0x1 (POWERON)\r\n" + said)

    def reset(self) -> None:
        """Power off and on."""
        self._stop.send(b"r")

    def close(self) -> None:
        """End the thread, once."""
        if self._stop.fileno() < 0:
            return
        self._stop.send(b"x")
        self._thread.join()
        self._stop.close()
