"""A line to a board: any pyserial URL, read without polling, written without blocking where possible."""

from __future__ import annotations

import contextlib
import os
import select
import socket
import time
from typing import Any

import serial

from emu.link.errors import LineLost

FIRST_BAUD = 115_200
_PORTION = 65_536
_BLOCKED_SECONDS = 5.0
_LOOK_SECONDS = 0.05
"""Longest read of a port that cannot be selected; data ends it at once."""


class Line:
    """An open port. All methods raise LineLost when the port is gone."""

    def __init__(self, url: str, baud: int = FIRST_BAUD) -> None:
        """Open ``url``; DTR and RTS are released first, since they reset most boards."""
        self.url = url
        self._out = bytearray()
        try:
            self._port: Any = serial.serial_for_url(url, baudrate=baud, do_not_open=True)
            self._port.dtr = self._port.rts = False
            self._port.timeout = _LOOK_SECONDS  # changing it later makes RFC 2217 negotiate again
            self._port.open()
        except (serial.SerialException, OSError, ValueError, AttributeError) as error:
            raise LineLost(f"{url}: {_reason(error)}") from error
        self._fd = self._descriptor()
        if self._fd is not None:
            self._port.timeout = self._port.write_timeout = 0
            _send_at_once(self._fd)

    def _descriptor(self) -> int | None:
        try:
            return int(self._port.fileno()) if os.name == "posix" else None
        except (AttributeError, OSError, ValueError):
            return None

    @property
    def has_lines(self) -> bool:
        """DTR and RTS reach the board (not on socket://)."""
        return not self.url.startswith(("socket://", "loop://"))

    def write(self, data: bytes) -> None:
        """Queue ``data``; it leaves while :meth:`read` waits."""
        if self._fd is not None:
            self._out += data
            return
        with self._lost():
            self._port.write(data)

    def read(self, seconds: float) -> bytes:
        """What has come; waits at most ``seconds`` for the first byte. Sends what is queued meanwhile."""
        with self._lost():
            if self._fd is None:
                return self._read_blocking(seconds)
            return self._read_selected(self._fd, seconds)

    def _read_selected(self, fd: int, seconds: float) -> bytes:
        while True:
            outgoing = [fd] if self._out else []
            readable, writable, _ = select.select([fd], outgoing, [], max(seconds, 0))
            if writable:
                sent = self._port.write(bytes(self._out[:_PORTION]))
                del self._out[:sent]
            if readable:
                return bytes(self._port.read(_PORTION))
            if not writable:
                return b""

    def _read_blocking(self, seconds: float) -> bytes:
        end, first = time.monotonic() + seconds, b""
        while not first:
            first = bytes(self._port.read(1))
            if time.monotonic() >= end:
                break
        more = self._port.in_waiting if first else 0
        return first + (bytes(self._port.read(more)) if more else b"")

    def drain(self, seconds: float = _BLOCKED_SECONDS) -> None:
        """Wait until everything queued has been handed over."""
        with self._lost():
            while self._fd is not None and self._out:
                _, writable, _ = select.select([], [self._fd], [], seconds)
                if not writable:
                    raise LineLost(f"{self.url}: nothing can be sent for {seconds:g} s")
                sent = self._port.write(bytes(self._out[:_PORTION]))
                del self._out[:sent]
            self._port.flush()

    @property
    def unsent(self) -> int:
        """Bytes still queued here."""
        return len(self._out)

    def set_baud(self, baud: int) -> None:
        """Change the speed of this side."""
        with self._lost():
            self._port.baudrate = baud

    def close(self) -> None:
        """Close; never raises."""
        with contextlib.suppress(Exception):
            self._port.close()

    @contextlib.contextmanager
    def _lost(self) -> Any:
        try:
            yield
        except (serial.SerialException, OSError, ValueError, TypeError, AttributeError) as error:
            raise LineLost(f"{self.url}: {_reason(error)}") from error


def _reason(error: BaseException) -> str:
    return str(error).strip() or type(error).__name__


def _send_at_once(fd: int) -> None:
    """Small frames must not wait for more (Nagle); a port that is no socket has no such option."""
    with contextlib.suppress(OSError), socket.socket(fileno=os.dup(fd)) as same:
        same.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
