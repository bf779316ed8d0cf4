"""How programs reach a board: clients that come and go, lines over RFC 2217, the command and its messages."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time

import pytest
import serial

from emu.board.control import ControlServer, ask
from emu.board.rfc2217 import Rfc2217Server
from emu.board.settings import BoardError
from emu.board.transport import PtyServer, TcpServer
from tests.board.boards import PATIENCE, build, esptool, powered, read_until

EMU = [sys.executable, "-c", "from emu.cli import main; main()"]


@pytest.fixture(scope="module")
def elf(toolchain, tmp_path_factory):
    return build(toolchain, tmp_path_factory.mktemp("transport"), "echo")


@pytest.mark.parametrize("kind", [TcpServer, PtyServer, Rfc2217Server])
def test_clients_come_and_go_and_every_byte_value_passes(elf, kind):
    data = bytes(range(256)) * 20
    with powered(elf=elf) as board:
        read_until(board, b"ready\n")
        server = kind(board)
        server.start()
        for _ in range(3):
            with serial.serial_for_url(server.url, timeout=60) as port:
                port.reset_input_buffer()
                port.write(data)
                assert port.read(len(data)) == data
        server.stop()


def test_a_second_client_waits_for_the_first(elf):
    with powered(elf=elf) as board:
        server = TcpServer(board)
        server.start()
        first = socket.create_connection(("127.0.0.1", server.port))
        second = socket.create_connection(("127.0.0.1", server.port))
        second.sendall(b"second")
        first.sendall(b"first")
        first.settimeout(60)
        text = b""
        while b"first" not in text:
            text += first.recv(100)
        assert b"second" not in text
        first.close()
        second.settimeout(60)
        text = b""
        while b"second" not in text:
            text += second.recv(100)
        second.close()
        server.stop()


def test_the_server_listens_on_loopback_only(elf):
    with powered(elf=elf) as board:
        server = TcpServer(board)
        assert server._socket.getsockname()[0] == "127.0.0.1"
        with pytest.raises(BoardError, match="cannot listen"):
            TcpServer(board, server.port)
        server.start()
        server.stop()


def test_esptool_resets_the_board_by_lines_over_rfc2217(elf, tmp_path):
    with powered(elf=elf, flash_bytes=4 << 20) as board:
        server = Rfc2217Server(board)
        server.start()
        text = esptool(server.url, "--no-stub", "flash-id")
        assert "Detected flash size: 4MB" in text
        server.stop()
        # Power on, into download mode, and back into the application by the hard reset at the end.
        end = time.monotonic() + PATIENCE
        while sum(board.resets.values()) < 3:
            assert time.monotonic() < end
            time.sleep(0.01)
        board.call(lambda: None)
        assert board.activity.name == "running"


def test_the_control_channel_resets_and_breaks(elf, tmp_path):
    path = tmp_path / "control"
    with powered(elf=elf) as board:
        channel = ControlServer(board, path)
        channel.start()
        assert os.stat(path).st_mode & 0o077 == 0
        assert ask(path, "status")["activity"] == "running"
        assert ask(path, "reset download")["activity"] == "download"
        assert ask(path, "reset")["resets"] == {"POWERON": 3}
        assert ask(path, "fault brownout")["resets"]["BROWN_OUT_RST"] == 1
        with pytest.raises(BoardError, match="reset \\[download\\]"):
            ask(path, "explode now")
        with pytest.raises(BoardError, match="control channel"):
            ControlServer(board, path)
        channel.stop()
    with pytest.raises(BoardError, match="no board answers"):
        ask(path, "status")


def test_the_command_serves_until_it_is_told_to_end(elf, tmp_path):
    control = tmp_path / "control"
    command = [*EMU, "board", "serve", "--tcp", "0", "--elf", str(elf), "--control", str(control)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        url = process.stdout.readline().strip()
        assert url.startswith("socket://localhost:")
        with serial.serial_for_url(url, timeout=60) as port:
            port.write(b"hello")
            assert port.read_until(b"hello").endswith(b"hello")
        question = [*EMU, "board", "status", "--control", str(control)]
        done = subprocess.run(question, capture_output=True, check=True)
        assert json.loads(done.stdout)["activity"] == "running"
        process.send_signal(signal.SIGTERM)
        _out, errors = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "loopback only" in errors
    assert "Traceback" not in errors


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["serve"], "--tcp PORT, --pty"),
        (["serve", "--tcp", "0", "--pty"], "--tcp PORT, --pty"),
        (["serve", "--pty", "--elf", "no-such.elf"], "no-such.elf"),
        (["serve", "--pty", "--flash-size", "3MB"], "flash size '3MB'"),
        (["serve", "--pty", "--mac", "01:02:03:04:05:06"], "group address"),
        (["serve", "--pty", "--mac", "hello"], "six bytes"),
        (["serve", "--pty", "--fault", "earthquake@1s"], "brownout"),
        (["serve", "--pty", "--flash", "/no/such/folder/f.bin"], "/no/such/folder"),
        (["reset", "--control", "/no/such/socket"], "no board answers"),
        (["fault", "--control", "/no/such/socket", "earthquake"], "brownout"),
    ],
)
def test_wrong_use_is_told_in_words(arguments, told):
    command = [*EMU, "board", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 2, done.stderr
    assert told in "".join(done.stderr.split("\n")) or told.replace(" ", "") in "".join(done.stderr.split())
    assert "Traceback" not in done.stderr
