"""docs/tutorial.md is walked: its commands in order, in a copy of the checkout, and the lines it shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from emu.toolchain import Toolchain

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "tutorial.md").read_text()


def steps() -> list[tuple[str, int, list[str]]]:
    """(command, exit code, lines that it must print) in the order of the page."""
    found: list[tuple[str, int, list[str]]] = []
    for block in re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], 0, []))
            elif line.startswith("exit code "):
                command, _, lines = found.pop()
                found.append((command, int(line.split()[-1]), lines))
            else:
                found[-1][2].append(line)
    return found


def copy_of_the_checkout(folder: Path) -> Path:
    """The files that are in version control, as they are here, as a repository of its own."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    names = [name for name in listed.decode().split("\0") if name and (ROOT / name).exists()]
    archive = subprocess.run(["tar", "c", *names], cwd=ROOT, capture_output=True, check=True).stdout
    clone = folder / "clone"
    clone.mkdir()
    subprocess.run(["tar", "x"], cwd=clone, input=archive, check=True)
    git = ["git", "-c", "user.name=Newcomer", "-c", "user.email=newcomer@example.org"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "a clone"]):
        subprocess.run([*git, *words], cwd=clone, check=True)
    return clone


def without_spaces(text: str) -> str:
    return " ".join(text.split())


def test_the_tutorial_does_what_it_says(toolchain: Toolchain, tmp_path: Path) -> None:
    clone = copy_of_the_checkout(tmp_path)
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "emu").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m emu.cli "$@"\n')
    (tools / "emu").chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{tools}:{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(clone),
        "EMU_LEDGER": str(tmp_path / "ledger.sqlite"),
        "COLUMNS": "120",
    }
    for command, code, lines in steps():
        done = subprocess.run(
            ["bash", "-c", command], cwd=clone, env=environment, capture_output=True, text=True, timeout=900
        )
        printed = done.stdout + done.stderr
        assert done.returncode == code, f"$ {command}\n{printed}"
        for line in lines:
            assert without_spaces(line) in without_spaces(printed), (
                f"$ {command}\n{line!r} is not in\n{printed}"
            )
    assert (clone / "report.html").stat().st_size > 10_000
    assert (clone / "face.png").read_bytes().startswith(b"\x89PNG")
