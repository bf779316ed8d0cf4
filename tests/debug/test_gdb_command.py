"""The server as people start it."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from rsp import TIMEOUT, Client


@contextmanager
def emu_run(*words: str) -> Iterator[tuple[subprocess.Popen[str], int, str]]:
    """The process, its port, and its first lines."""
    command = [sys.executable, "-m", "emu.cli", "run", "-", "--gdb", "0", *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert process.stdout is not None
        first = process.stdout.readline() + process.stdout.readline()
        match = re.search(r"127\.0\.0\.1:(\d+)", first)
        assert match, first
        yield process, int(match[1]), first
    finally:
        process.kill()
        process.wait(TIMEOUT)


def test_a_session_with_the_process() -> None:
    with emu_run("--call", "crc32_bytes", "0", "u8:1,2,3", "3", "--once") as (process, port, first):
        assert "this machine only" in first
        assert "crc32_bytes" in first
        client = Client(port)
        assert client.ask("c").startswith("T05")
        assert "0x55bc801d" in client.console
        assert client.ask("c") == "W00"
        client.close()
        assert process.wait(TIMEOUT) == 0


def test_only_the_loopback_address_is_listened_on() -> None:
    """A server on all addresses would answer on 127.0.0.2 too."""
    with emu_run() as (_, port, _first):
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.2", port), 5).close()
        Client(port).close()


def test_a_port_in_use() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        command = [sys.executable, "-m", "emu.cli", "run", "-", "--gdb", port]
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT)
    assert done.returncode == 2
    assert port in done.stderr
    assert "Traceback" not in done.stderr


def test_interrupting_the_server() -> None:
    with emu_run() as (process, _, _first):
        process.send_signal(signal.SIGINT)
        assert process.wait(TIMEOUT) == 130
