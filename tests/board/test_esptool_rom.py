"""Unmodified esptool against the ROM loader (--no-stub), over TCP and over a pseudo terminal."""

from __future__ import annotations

import random

import pytest
import serial

from emu.board.transport import PtyServer, TcpServer
from tests.board.boards import build, esptool, powered, read_until, send_all

MAC = "02:e5:33:00:be:ef"


@pytest.fixture(params=["tcp", "pty"])
def served(request):
    with powered(download=True, flash_bytes=4 << 20, mac=bytes.fromhex(MAC.replace(":", ""))) as board:
        server = TcpServer(board) if request.param == "tcp" else PtyServer(board)
        server.start()
        yield board, server
        server.stop()


def test_the_whole_round_without_a_stub(served, tmp_path):
    board, server = served
    data = random.Random(5).randbytes(9000) + bytes(7000)
    source, back = tmp_path / "source.bin", tmp_path / "back.bin"
    source.write_bytes(data)
    text = esptool(server.url, "--no-stub", "flash-id")
    assert "ESP32-S3 (QFN56) (revision v0.2)" in text
    assert MAC in text
    assert "Detected flash size: 4MB" in text
    text = esptool(server.url, "--no-stub", "--baud", "921600", "write-flash", "0x12000", str(source))
    assert "Hash of data verified." in text
    assert board.flash.read(0x12000, len(data)) == data
    esptool(server.url, "--no-stub", "read-flash", "0x12100", "2000", str(back))
    assert back.read_bytes() == data[0x100 : 0x100 + 2000]
    assert "Verification successful" in esptool(
        server.url, "--no-stub", "verify-flash", "0x12000", str(source)
    )
    source.write_bytes(b"other" + data[5:])
    esptool(server.url, "--no-stub", "verify-flash", "0x12000", str(source), ok=False)


def test_an_image_is_loaded_to_ram_and_runs(served, toolchain, tmp_path):
    board, server = served
    elf, binary = build(toolchain, tmp_path, "echo"), tmp_path / "echo.bin"
    esptool(server.url, "elf2image", "-o", str(binary), str(elf))
    esptool(server.url, "--no-stub", "load-ram", str(binary))
    with serial.serial_for_url(server.url, timeout=60) as port:
        port.write(b"are you there?")
        assert b"are you there?" in port.read_until(b"there?")
    assert board.activity.name == "running"


def test_an_image_in_flash_is_run(toolchain, tmp_path):
    elf, binary = build(toolchain, tmp_path, "echo"), tmp_path / "echo.bin"
    with powered(download=True, flash_bytes=4 << 20) as board:
        server = TcpServer(board)
        server.start()
        esptool(server.url, "elf2image", "--flash-size", "4MB", "-o", str(binary), str(elf))
        esptool(server.url, "--no-stub", "write-flash", "0", str(binary))
        assert board.activity.name == "download"
        esptool(server.url, "--no-stub", "run")
        server.stop()
        send_all(board, b"ping")
        assert read_until(board, b"ping")
        assert board.activity.name == "running"
