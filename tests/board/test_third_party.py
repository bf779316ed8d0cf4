"""Programs of others, unmodified: esptool with its older stub, pyserial's miniterm, pytest-embedded."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import pty
import random
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

from emu.board.transport import PtyServer, TcpServer
from tests.board.boards import PATIENCE, build, esptool, powered

STUBS = Path(importlib.metadata.distribution("esptool").locate_file("esptool/targets/stub_flasher"))
"""Not by find_spec: where pytest is started as a script, that finds the script esptool.py beside it."""


@pytest.mark.parametrize("version", ["1", "2"])
def test_both_stubs_of_esptool(tmp_path, version):
    if not (STUBS / version / "esp32s3.json").is_file():
        pytest.skip(f"this esptool ships no stub of version {version} for the chip ({STUBS})")
    data = random.Random(3).randbytes(9000)
    source, back = tmp_path / "source.bin", tmp_path / "back.bin"
    source.write_bytes(data)
    with powered(download=True, flash_bytes=4 << 20) as board:
        server = TcpServer(board)
        server.start()
        stub = ("--stub-version", version)
        text = esptool(server.url, *stub, "write-flash", "0x8000", str(source))
        assert "Stub flasher running." in text
        assert "Hash of data verified." in text
        assert board.flash.read(0x8000, len(data)) == data
        board.call(lambda: board.restart_now(download=True))
        esptool(server.url, *stub, "read-flash", "0x8100", "3000", str(back))
        assert back.read_bytes() == data[0x100 : 0x100 + 3000]
        server.stop()


class Terminal:
    """A program in a pseudo terminal, as before a person."""

    def __init__(self, *command: str) -> None:
        self._master, slave = pty.openpty()
        self.process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, close_fds=True)
        os.close(slave)
        self.said = b""

    def type(self, keys: bytes) -> None:
        """Press keys."""
        os.write(self._master, keys)

    def wait_for(self, text: bytes) -> None:
        """Until the screen has shown it."""
        end = time.monotonic() + PATIENCE
        while text not in self.said:
            assert time.monotonic() < end, self.said
            if select.select([self._master], [], [], 0.2)[0]:
                self.said += os.read(self._master, 4096)

    def close(self) -> int:
        """The exit code; whoever hangs is ended."""
        try:
            return self.process.wait(PATIENCE)
        finally:
            self.process.kill()
            os.close(self._master)


@pytest.mark.parametrize("transport", [TcpServer, PtyServer])
def test_miniterm(toolchain, tmp_path, transport):
    """What is typed comes back from the board, which echoes; Ctrl-] leaves."""
    with powered(elf=build(toolchain, tmp_path, "echo")) as board:
        server = transport(board)
        server.start()
        terminal = Terminal(sys.executable, "-m", "serial.tools.miniterm", server.url, "115200")
        terminal.wait_for(b"--- Quit: Ctrl+]")
        terminal.type(b"is anybody there?")
        terminal.wait_for(b"is anybody there?")
        terminal.type(b"\x1d")
        assert terminal.close() == 0
        server.stop()


DUT = """
def test_echo(dut):
    dut.write("knock knock")
    dut.expect("knock knock", timeout=60)
"""


def test_pytest_embedded(toolchain, tmp_path):
    if importlib.util.find_spec("pytest_embedded_serial") is None:
        pytest.skip("pytest-embedded is not installed; to mend: pip install pytest-embedded-serial")
    (tmp_path / "test_dut.py").write_text(DUT)
    with powered(elf=build(toolchain, tmp_path, "echo")) as board:
        server = PtyServer(board)
        server.start()
        options = ("--embedded-services", "serial", "--port", server.url, "-p", "no:cacheprovider")
        command = [sys.executable, "-m", "pytest", "-q", "test_dut.py", *options]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
        server.stop()
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout
