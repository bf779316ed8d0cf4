"""A channel beside the serial line: resets, faults and the state of a board that runs in another process.

A Unix socket, one line of text each way: ``reset``, ``reset download``, ``fault brownout@2s``, ``status``;
the answer is a JSON object with ``ok`` and what was asked for, or ``error``.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
import threading
from pathlib import Path
from typing import Any

from emu.board.board import Board
from emu.board.chip import RESET_NAMES
from emu.board.faults import parse_fault
from emu.board.settings import BoardError

LONGEST = 1000
PATIENCE = 10.0
"""Seconds that a command may take."""


class ControlServer:
    """Listens at ``path``, which only this user can open."""

    def __init__(self, board: Board, path: Path) -> None:
        """Raises BoardError when the path cannot be used."""
        self._board = board
        self.path = path
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            _remove_dead(path)
            self._socket.bind(str(path))
            os.chmod(path, 0o600)
        except OSError as error:
            raise BoardError(f"{path}: no control channel: {error.strerror or error}") from None
        self._socket.listen(4)
        self._is_stopped = False
        self._thread = threading.Thread(target=self._serve, name="control", daemon=True)

    def start(self) -> None:
        """Serve from now on."""
        self._thread.start()

    def stop(self) -> None:
        """Serve nobody any more."""
        self._is_stopped = True
        self._thread.join()
        self._socket.close()
        with contextlib.suppress(OSError):
            self.path.unlink()

    def _serve(self) -> None:
        while not self._is_stopped:
            if not select.select([self._socket], [], [], 0.1)[0]:
                continue
            client, _ = self._socket.accept()
            with client, contextlib.suppress(OSError):
                client.settimeout(PATIENCE)
                line = client.makefile("r", encoding="utf-8", errors="replace").readline(LONGEST)
                client.sendall((json.dumps(self._answer(line.split())) + "\n").encode())

    def _answer(self, words: list[str]) -> dict[str, Any]:
        board = self._board
        try:
            match words:
                case ["reset"]:
                    board.call(lambda: board.restart_now(download=False))
                case ["reset", "download"]:
                    board.call(lambda: board.restart_now(download=True))
                case ["fault", text]:
                    board.fault(parse_fault(text))
                case ["status"]:
                    pass
                case _:
                    raise BoardError(
                        f"command {' '.join(words)!r}: reset [download], fault KIND[@TIME], status"
                    )
        except BoardError as error:
            return {"ok": False, "error": str(error)}
        return {"ok": True, **status(board)}


def status(board: Board) -> dict[str, Any]:
    """What a board is doing, in plain values."""
    return {
        "activity": board.activity.name,
        "why": getattr(board.activity, "why", ""),
        "resets": {RESET_NAMES[cause]: count for cause, count in board.resets.items()},
        "seconds": round(board.machine.seconds, 3),
        "not modelled": list(board.machine.not_modelled),
        "bytes lost": board.line.lost,
    }


def ask(path: Path, command: str) -> dict[str, Any]:
    """Send a command to a board's control channel. Raises BoardError."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as channel:
        try:
            channel.settimeout(PATIENCE)
            channel.connect(str(path))
            channel.sendall(command.encode() + b"\n")
            text = channel.makefile("r", encoding="utf-8").readline()
        except OSError as error:
            raise BoardError(f"{path}: no board answers there: {error.strerror or error}") from None
    answer: dict[str, Any] = json.loads(text or '{"ok": false, "error": "the board has gone"}')
    if not answer.get("ok"):
        raise BoardError(str(answer.get("error")))
    return answer


def _remove_dead(path: Path) -> None:
    """A socket file that nobody listens at any more. Raises OSError when somebody does."""
    if not path.is_socket():
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            path.unlink()
            return
    raise OSError(0, "another board has it")
