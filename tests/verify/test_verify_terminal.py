"""What long commands show on a terminal, in a pipe, quietly and as JSON; and how Ctrl-C leaves them."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

COMMAND = [sys.executable, "-c", "from emu.cli import main; main()"]
BUNDLED = Path(__file__).parents[2] / "golden" / "models"
COLOUR = re.compile(r"\x1b\[(?:\d+;)*(?:3[0-7]|9[0-7]|38)(?:;\d+)*m")
KERNELS = ("exp_array", "ln_array", "crc32_bytes", "gelu_array")
VERIFY = ["verify", "--target", "mirror", "--no-memory", "--jobs", "1"]
for name in KERNELS:
    VERIFY += ["--kernel", name]


@pytest.fixture(autouse=True)
def _own_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    monkeypatch.setenv("EMU_LEDGER", str(tmp_path / "ledger.sqlite"))
    for variable in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "120")


def on_terminal(words: list[str], press_at: str = "") -> tuple[int, str]:
    """(exit code, everything on the screen) of a command on a pseudo-terminal.

    ``press_at``: when the screen shows this (a regular expression), Ctrl-C is typed.
    """
    pid, screen = pty.fork()
    if pid == 0:
        os.execv(sys.executable, [*COMMAND, *words])
    shown, limit = b"", time.monotonic() + 500
    with contextlib.suppress(OSError):  # the terminal is gone when the command has ended
        while time.monotonic() < limit:
            if select.select([screen], [], [], 1)[0]:
                data = os.read(screen, 65536)
                if not data:
                    break
                shown += data
            if press_at and re.search(press_at, shown.decode("utf-8", "replace")):
                os.write(screen, b"\x03")
                press_at = ""
    _, status = os.waitpid(pid, 0)
    os.close(screen)
    return os.waitstatus_to_exitcode(status), shown.decode("utf-8", "replace")


def in_pipe(words: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *words], capture_output=True, text=True, check=False)


def test_bars_and_colours_belong_to_terminals() -> None:
    code, shown = on_terminal([*VERIFY, "--examples", "20"])
    assert code == 0
    assert re.search(r"\d/4 kernels", shown)
    assert COLOUR.search(shown)
    piped = in_pipe([*VERIFY, "--examples", "20"])
    assert "\x1b" not in piped.stdout + piped.stderr
    assert "4 kernels: 4 equal" in piped.stdout


def test_no_color_is_obeyed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    _, shown = on_terminal([*VERIFY, "--examples", "20"])
    assert re.search(r"\d/4 kernels", shown)
    assert not COLOUR.search(shown)


def test_ctrl_c_leaves_a_run_that_goes_on() -> None:
    words = [*VERIFY, "--examples", "1000"]
    code, shown = on_terminal(words, press_at=r"[1-3]/4 kernels")
    assert code == 130, shown[-2000:]
    assert "interrupted: the same command with --resume goes on from here" in shown
    code, shown = on_terminal([*words, "--resume"])
    assert code == 0
    found = re.search(r"resumed: ([1-3]) of 4 kernels were finished by the run before", shown)
    assert found is not None, shown[-2000:]


def test_ctrl_c_without_a_ledger_does_not_promise_what_it_cannot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMU_LEDGER", "off")
    code, shown = on_terminal([*VERIFY, "--examples", "1000"], press_at=r"[1-3]/4 kernels")
    assert code == 130
    assert "--resume would find nothing" in shown


def test_goldens_show_where_they_are_and_what_is_left() -> None:
    names = ["ternary-random", "ternary-extreme", "tinylm-random"]
    words = ["golden", "check", *names, "--folder", str(BUNDLED), "--target", "mirror"]
    code, shown = on_terminal(words)
    assert code == 0
    assert "ternary-extreme: mirror" in shown
    assert re.search(r"[0-3]/3", shown)
    code, shown = on_terminal(words, press_at=r"tinylm-random: mirror")
    if code == 0:  # it was as good as finished
        pytest.fail("Ctrl-C at the last golden came too late")
    assert code == 130
    assert "what is left: emu golden check tinylm-random" in shown


def test_quiet_and_json() -> None:
    assert in_pipe([*VERIFY, "--examples", "20", "-q"]).stdout == ""
    found = in_pipe([*VERIFY, "--examples", "20", "--json", "-"])
    assert [k["kernel"] for k in json.loads(found.stdout)["kernels"]] == sorted(KERNELS, key=_order(found))
    assert "4 kernels: 4 equal" in found.stderr
    words = ["golden", "check", "ternary-random", "--target", "mirror", "--folder", str(BUNDLED)]
    found = in_pipe([*words, "--json", "-", "-q"])
    assert (json.loads(found.stdout)[0]["verdict"], found.stderr) == ("equal", "")


def _order(found: subprocess.CompletedProcess[str]):
    table = found.stderr
    return lambda name: table.index(name)
