"""A program that uses the commands in its own process keeps its signal handlers."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator

import click
import pytest
from click.testing import CliRunner

from emu.cli import main
from emu.cli_errors import EXIT_INTERRUPTED, EXIT_TOOL, guarded


@pytest.fixture
def handler() -> Iterator[Callable[[int, object], None]]:
    """The program's own answer to SIGTERM."""

    def own(number: int, frame: object) -> None:
        pytest.fail("the program's handler was called while a command ran")

    before = signal.signal(signal.SIGTERM, own)
    yield own
    signal.signal(signal.SIGTERM, before)


def _runs(body: Callable[[], int]) -> int:
    command = click.command()(guarded(body))
    return CliRunner().invoke(command, []).exit_code


def _terminated() -> int:
    os.kill(os.getpid(), signal.SIGTERM)
    return 0


def _broken() -> int:
    raise RuntimeError("a fault of ours")


@pytest.mark.parametrize(
    ("body", "code"), [(lambda: 0, 0), (lambda: 1, 1), (_broken, EXIT_TOOL), (_terminated, EXIT_INTERRUPTED)]
)
def test_the_handler_comes_back(
    handler: Callable[[int, object], None], body: Callable[[], int], code: int
) -> None:
    assert _runs(body) == code
    assert signal.getsignal(signal.SIGTERM) is handler


@pytest.mark.parametrize("words", [["doctor", "--help"], ["disasm", "no-such.elf"], ["no-such-command"]])
def test_after_commands_that_exist(handler: Callable[[int, object], None], words: list[str]) -> None:
    CliRunner().invoke(main, words)
    assert signal.getsignal(signal.SIGTERM) is handler


def test_in_another_thread_nothing_is_installed(handler: Callable[[int, object], None]) -> None:
    codes: list[int] = []
    thread = threading.Thread(target=lambda: codes.append(_runs(lambda: 0)))
    thread.start()
    thread.join()
    assert codes == [0]
    assert signal.getsignal(signal.SIGTERM) is handler
