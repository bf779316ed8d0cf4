"""Boards for tests: tiny firmware, boards that are switched off again, waiting for text."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from emu.board.board import Board
from emu.board.settings import Settings
from emu.toolchain import Toolchain

SOURCES = Path(__file__).parent / "firmware"
PATIENCE = 120.0
"""Seconds until a test gives up waiting; only a board that is broken takes so long."""


def build(toolchain: Toolchain, folder: Path, name: str, *flags: str, symbols: Sequence[str] = ()) -> Path:
    """The ELF file of ``firmware/<name>.c``. ``symbols``: functions of the ROM that it calls."""
    from emu.rom import rom_address

    elf = folder / f"{name}.elf"
    toolchain.assemble(SOURCES / "start.S", folder / "start.o", [])
    toolchain.compile(SOURCES / f"{name}.c", folder / f"{name}.o", ["-O2", "-ffreestanding", *flags])
    places = [f"-Wl,--defsym={symbol}={rom_address(symbol):#x}" for symbol in symbols]
    toolchain.link([folder / "start.o", folder / f"{name}.o"], elf, SOURCES / "ram.ld", places)
    return elf


@contextlib.contextmanager
def powered(**choices: Any) -> Iterator[Board]:
    """A board that runs until the block ends."""
    board = Board(Settings(**choices))
    board.start()
    try:
        yield board
    finally:
        board.stop()


def read_until(board: Board, text: bytes) -> bytes:
    """What the board sends up to and with ``text``, and whatever has come behind it."""
    return search(board, re.escape(text)).string


def search(board: Board, pattern: bytes) -> re.Match[bytes]:
    """The first place of a pattern in what the board sends from now on."""
    found, end = b"", time.monotonic() + PATIENCE
    while (match := re.search(pattern, found)) is None:
        found += board.line.fetch()
        assert time.monotonic() < end, f"{pattern!r} did not come; {found[-400:]!r}, {_doing(board)}"
        time.sleep(0.001)
    return match


def send_all(board: Board, data: bytes) -> None:
    """Everything onto the wire."""
    while data:
        data = data[board.line.send(data) :]
        time.sleep(0.0005)


def _doing(board: Board) -> str:
    activity = board.activity
    return f"{activity.name} {getattr(activity, 'why', '')}"


def esptool(url: str, *arguments: str, ok: bool = True) -> str:
    """Run esptool as a program; what it printed. ``ok``: it has to succeed."""
    command = [sys.executable, "-m", "esptool", "--chip", "esp32s3", "--port", url, *arguments]
    patient = {**os.environ, "ESPTOOL_CFGFILE": str(Path(__file__).with_name("esptool.cfg"))}
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, env=patient)
    if ok:
        assert done.returncode == 0, done.stdout + done.stderr
    else:
        assert done.returncode != 0, done.stdout
    return done.stdout + done.stderr
