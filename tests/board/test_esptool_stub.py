"""esptool with its own stub: code of another project, uploaded to the board and run by our engine."""

from __future__ import annotations

import random

import pytest

from emu.board.transport import PtyServer, TcpServer
from tests.board.boards import esptool, powered

FLASH = 4 << 20


@pytest.fixture(scope="module", params=["tcp", "pty"])
def served(request):
    with powered(download=True, flash_bytes=FLASH) as board:
        server = TcpServer(board) if request.param == "tcp" else PtyServer(board)
        server.start()
        yield board, server.url
        server.stop()


@pytest.fixture(autouse=True)
def in_download_mode(served):
    """Each test begins with a board that has no stub yet."""
    served[0].reset(download=True)
    served[0].call(lambda: None)
    yield
    assert served[0].activity.name == "running", getattr(served[0].activity, "why", "")
    assert not served[0].machine.not_modelled, served[0].machine.not_modelled


def test_the_chip_and_its_flash_are_found_by_the_stub(served):
    _board, url = served
    text = esptool(url, "flash-id")
    assert "Stub flasher running." in text
    assert "Detected flash size: 4MB" in text
    assert "02:e5:33:00:a0:01" in esptool(url, "read-mac")
    assert "Chip ID: 9" in esptool(url, "get-security-info")


@pytest.mark.parametrize("kind", ["compressed", "plain"])
def test_write_with_verification_and_read_back(served, tmp_path, kind):
    board, url = served
    text = b"".join(b"line %d of a text that can be packed\n" % i for i in range(900))
    data = text if kind == "compressed" else random.Random(7).randbytes(20_000)
    source, back = tmp_path / "source.bin", tmp_path / "back.bin"
    source.write_bytes(data)
    how = [] if kind == "compressed" else ["--no-compress"]
    assert "Hash of data verified." in esptool(url, "write-flash", *how, "0x20000", str(source))
    assert board.flash.read(0x20000, len(data)) == data
    esptool(url, "--baud", "921600", "read-flash", "0x20000", str(len(data)), str(back))
    assert back.read_bytes() == data


def test_erasing(served):
    board, url = served
    board.flash.program(0, bytes(FLASH))
    esptool(url, "erase-region", "0x1000", "0x2000")
    cells = board.flash.read(0, FLASH)
    assert cells[0x1000:0x3000] == b"\xff" * 0x2000
    assert not any(cells[:0x1000])
    assert not any(cells[0x3000:])
    esptool(url, "erase-flash")
    assert board.flash.read(0, FLASH) == b"\xff" * FLASH
