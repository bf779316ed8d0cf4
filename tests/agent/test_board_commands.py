"""Commands that put the agent on a board and use it there, against the virtual board by DTR and RTS."""

from __future__ import annotations

import os
import subprocess
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from agent_on_board import PATIENT
from click.testing import CliRunner

from emu.board.board import Board as VirtualBoard
from emu.board.rfc2217 import Rfc2217Server
from emu.board.settings import Settings
from emu.board.transport import PtyServer, TcpServer
from emu.cli import main
from emu.link.board import Board
from emu.link.client import Client
from emu.link.requests import Place
from emu.models.modelfile.kinds import Kind
from emu.models.modelfile.random_weights import random_model
from emu.verify.board_models import FLASH_OFFSET
from emu.verify.reference import agent_elf
from tests.plugin.specs import GOOD

CONFIGURATION = Path(__file__).parents[1] / "board" / "esptool.cfg"
ROOT = Path(__file__).parents[2]


@pytest.fixture
def patient_esptool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ESPTOOL_CFGFILE", str(CONFIGURATION))


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[tuple[VirtualBoard, str]]:
    """A board with nothing in its flash, and its URL."""
    board = VirtualBoard(Settings(flash=tmp_path / "flash.bin", flash_bytes=8 << 20))
    server = Rfc2217Server(board)
    board.start()
    server.start()
    yield board, server.url
    server.stop()
    board.stop()


def emu(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own: esptool reads its configuration once."""
    command = [sys.executable, "-c", "from emu.cli import main; main()", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=900, check=False)


def connected(url: str) -> Board:
    return Board(url, timing=PATIENT)


@pytest.mark.usefixtures("patient_esptool")
def test_flash_into_ram(empty: tuple[VirtualBoard, str]) -> None:
    done = emu("flash", "--port", empty[1])
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == "esp32s3-agent.elf runs from RAM until the next reset\n"
    assert "Connecting" not in done.stderr
    board = connected(empty[1])
    assert len(board.client().kernels) == 81
    board.close()
    assert empty[0].flash.read(0, 0x1000) == b"\xff" * 0x1000


@pytest.mark.usefixtures("patient_esptool")
def test_flash_with_boot_and_model(empty: tuple[VirtualBoard, str], tmp_path: Path) -> None:
    """After a reset the agent starts from flash, and shows the model through the ROM's functions."""
    data = random_model(Kind.TERNARY, 1)
    model = tmp_path / "model.bin"
    model.write_bytes(data)
    done = emu("flash", "--port", empty[1], "--boot", "--model", str(model))
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(data):,} bytes at 0x200000 of the flash, verified" in done.stdout
    assert empty[0].flash.read(FLASH_OFFSET, len(data)) == data
    empty[0].reset()
    board = connected(empty[1])

    def work(client: Client) -> tuple[list[str], list[int]]:
        client.map_memories(FLASH_OFFSET, -(-len(data) // 0x10000) * 0x10000, 0x10000)
        names = [region.name for region in client.regions]
        client.buffer(0, names.index("model"), 0, client.regions[names.index("model")].size)
        client.buffer(1, names.index("psram"), 0, 4096)
        client.write(1, 0, b"psram keeps it")
        assert client.read(Place(1, 0, 14)) == b"psram keeps it"
        return names, client.checksums([Place(0, 0, len(data))])

    names, checks = board.attempt(work)
    board.close()
    assert names == ["sram", "model", "psram"]
    assert checks == [zlib.crc32(data)]
    assert not empty[0].machine.not_modelled


@pytest.fixture(scope="module")
def agent_url() -> Iterator[str]:
    board = VirtualBoard(Settings(elf=agent_elf()))
    server = TcpServer(board)
    board.start()
    server.start()
    yield server.url
    server.stop()
    board.stop()


def test_pytest_with_a_board(agent_url: str, tmp_path: Path) -> None:
    (tmp_path / "emu_good.py").write_text(GOOD)
    options = (
        "--emu-target",
        "board",
        "--emu-port",
        agent_url,
        "--emu-examples",
        "8",
        "-p",
        "no:cacheprovider",
    )
    command = [sys.executable, "-m", "pytest", "-p", "emu.pytest_plugin", "-v", *options]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout
    assert f"emu: board at {agent_url}" in done.stdout


def test_verify_through_a_spy(tmp_path: Path) -> None:
    """``spy://`` is a URL of pyserial's own, which writes down what passes."""
    board = VirtualBoard(Settings(elf=agent_elf()))
    server = PtyServer(board)
    board.start()
    server.start()
    spied = f"spy://{server.url}?file={tmp_path / 'spy.txt'}"
    chosen = ("--kernel", "rne_array", "--examples", "5", "--no-memory", "--out", str(tmp_path))
    done = CliRunner().invoke(main, ["verify", "--port", spied, *chosen])
    server.stop()
    board.stop()
    assert done.exit_code == 0, done.output
    assert "1 equal" in done.output
    assert " TX " in (tmp_path / "spy.txt").read_text()
