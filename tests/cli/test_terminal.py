"""Bars of commands: only on a terminal, without a thread where processes are forked, lines elsewhere."""

from __future__ import annotations

import io
import threading
import time

import pytest
from rich.console import Console

from emu.terminal import WITHOUT_TERMINAL, Terminal, narration, progress
from emu.toolchain.install import told_on_stderr


def on(terminal: bool) -> tuple[Console, io.StringIO]:
    file = io.StringIO()
    return Console(file=file, force_terminal=terminal, width=60), file


def test_nothing_but_lines_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    console, file = on(False)
    with progress(console, 2) as step:
        step("one", 1)
    with narration(console) as say:
        say("the first [stage]")
        say("the second")
    assert file.getvalue() == "... the first [stage]\n... the second\n"
    with told_on_stderr() as tell:
        tell("fetching [a lot]")
    assert capsys.readouterr().err == "toolchain: fetching [a lot]\n"


@pytest.mark.parametrize("forks", [False, True])
def test_a_bar_says_what_is_done(forks: bool) -> None:
    console, file = on(True)
    before = threading.active_count()
    with progress(console, 3, forks) as step:
        step("sorting", 2)
        assert (threading.active_count() == before) is forks
        if not forks:
            time.sleep(0.3)  # the clock draws it
    assert "sorting" in file.getvalue()
    assert "2/3" in file.getvalue()


def test_lines_of_a_search_stay_above_its_bar() -> None:
    console, file = on(True)
    with narration(console) as say:
        say("the first stage")
    assert "... the first stage" in file.getvalue()
    assert "searching" in file.getvalue()


def test_a_quiet_console_shows_no_bar() -> None:
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, quiet=True)
    with progress(console, 1) as step:
        step("one", 1)
    assert file.getvalue() == ""


def test_a_pipe_has_room_for_every_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    assert Terminal.of().usual.width == WITHOUT_TERMINAL
    monkeypatch.setenv("COLUMNS", "70")
    assert Terminal.of().usual.width == 70
