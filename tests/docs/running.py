"""Running the blocks of a page, in order, in one folder."""

from __future__ import annotations

import json
import os
import re
import shlex
import socket
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from tests.docs.page import DATA, ROOT, SHELL, Block, Page
from tests.docs.shell import Shell
from tests.docs.shown import agrees, masked

SECONDS = 900.0
LONG_SECONDS = 3600.0
# Ports of the pages: each is a free one while they are run, so that nobody is disturbed.
PORT = re.compile(r"\b77\d\d\b")
# Commands for what pages do not show: waiting for a server, for a virtual board to start, and one that runs
# until Ctrl-C.
HIDDEN = {
    "wait-for-port": """
for i in {1..600}; do (: >"/dev/tcp/127.0.0.1/$1") 2>/dev/null && exit 0; sleep 0.1; done; exit 1
""",
    "wait-for-agent": """
for i in {1..60}; do emu boards "socket://localhost:$1" >agent.out 2>&1 && exit 0; sleep 0.1; done
cat agent.out; exit 1
""",
    "for-a-moment": """
"$@" >moment.out 2>&1 &
until [ -s moment.out ]; do kill -0 $! || break; sleep 0.1; done
sleep 2; kill $!; wait $!; code=$?
cat moment.out; rm moment.out; exit $code
""",
}
_EXIT = re.compile(r"exit code (\d+)")
_PARSE: dict[str, Callable[[str], object]] = {
    "json": json.loads,
    "toml": tomllib.loads,
    "yaml": yaml.safe_load,
}


@dataclass
class Step:
    """One command of a block, the output that is shown below it, and its exit code."""

    command: str
    shown: str | None = None
    code: int = 0


@dataclass
class Run:
    """A page while it is run."""

    page: Page
    shell: Shell
    folder: Path
    long: bool
    ports: dict[str, str] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)

    def block(self, block: Block) -> None:
        """Run one block. Raises AssertionError with the place, the command and what it printed."""
        marks = block.marks
        if marks.one("output") is not None:
            return
        why = block.left_out or (None if self.long else marks.one("long"))
        if why is not None:
            self.left_out.append(f"{block.where}: not run: {why}")
            return
        if (name := marks.one("file")) is not None:
            self._file(block, name)
        elif block.language in DATA:
            _PARSE[block.language](block.text)
        elif block.language == "python":
            self._python(block)
        else:
            for step in [*hidden(marks.text("first")), *steps(block), *hidden(marks.text("then"))]:
                self._step(block, step)

    def first(self) -> None:
        """What comes before the first block."""
        at_start = Block(self.page.path, 1, "bash", "", self.page.marks)
        for step in hidden(self.page.marks.text("first")):
            self._step(at_start, step)

    def _file(self, block: Block, name: str) -> None:
        for step in hidden(block.marks.text("first")):
            self._step(block, step)
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self._exchanged(block.text, block))
        if block.language in DATA:
            _PARSE[block.language](block.text)
        if block.language == "c":
            self._step(block, Step(f"$CHIP_CC -fsyntax-only -Wall -Wextra {shlex.quote(name)}"))
        if block.language == "python":
            compile(block.text, name, "exec")
        for step in hidden(block.marks.text("then")):
            self._step(block, step)

    def _python(self, block: Block) -> None:
        marks = block.marks
        text = self._exchanged(marks.text("first") + block.text + marks.text("then"), block)
        script = self.folder / f"block_{block.line}.py"
        script.write_text(text)
        self._step(block, Step(f"python {script.name}"))
        script.unlink()

    def _step(self, block: Block, step: Step) -> None:
        command = self._exchanged(step.command, block)
        done = self.shell.run(command, LONG_SECONDS if self.long else SECONDS)
        printed = self._as_shown(done.printed, block)
        assert done.code == step.code, (
            f"{block.where}\n$ {command}\nexit code {done.code}, not {step.code}; it printed:\n{printed}"
        )
        if step.shown is not None:
            assert agrees(step.shown, printed), (
                f"{block.where}\n$ {command}\nthe page shows:\n{masked(step.shown)}\n\n"
                f"it printed:\n{masked(printed)}"
            )

    def _pairs(self, block: Block) -> list[tuple[str, str]]:
        own = block.marks.exchanges()
        return [*own, *(pair for pair in self.page.marks.exchanges() if pair not in own)]

    def _exchanged(self, text: str, block: Block) -> str:
        for shown, run in self._pairs(block):
            text = text.replace(shown, run)
        return PORT.sub(lambda match: self.ports.setdefault(match[0], free_port()), text)

    def _as_shown(self, text: str, block: Block) -> str:
        for port, free in self.ports.items():
            text = text.replace(free, port)
        for shown, run in reversed(self._pairs(block)):
            text = text.replace(run, shown) if run else text
        return text.replace(str(self.folder), "/home/you/project")


def free_port() -> str:
    """A port of this machine that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


def hidden(lines: str) -> list[Step]:
    """Commands that the page does not show; they must succeed."""
    return [Step(lines)] if lines.strip() else []


def steps(block: Block) -> list[Step]:
    """Commands of a block: each line with `$ ` of a console, each line of a script."""
    assert block.language in SHELL, block.where
    code = int(block.marks.one("exit") or 0)
    made: list[Step] = []
    open_line = False
    for line in block.text.splitlines():
        starts = line.startswith("$ ") if block.language == "console" else bool(line.strip())
        if open_line:
            made[-1].command += "\n" + line
        elif starts:
            made.append(Step(line.removeprefix("$ "), None, code))
        elif block.language == "console":
            _add_output(block, made, line)
            continue
        open_line = line.endswith("\\")
    assert made, (
        f"{block.where}: a block of `{block.language}` without a command (lines of a console begin with `$ `)"
    )
    return made


def _add_output(block: Block, made: list[Step], line: str) -> None:
    assert made, f"{block.where}: output before the first command"
    if found := _EXIT.fullmatch(line):
        made[-1].code = int(found[1])
    else:
        made[-1].shown = f"{made[-1].shown or ''}{line}\n"


def copy_of_the_checkout(clone: Path) -> None:
    """The files that are in version control, as they are here, as a repository of its own."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    names = [name for name in listed.decode().split("\0") if name and (ROOT / name).exists()]
    archive = subprocess.run(["tar", "c", *names], cwd=ROOT, capture_output=True, check=True).stdout
    subprocess.run(["tar", "x"], cwd=clone, input=archive, check=True)
    git = ["git", "-c", "user.name=Newcomer", "-c", "user.email=newcomer@example.org"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "a clone"]):
        subprocess.run([*git, *words], cwd=clone, check=True)


def commands_of_a_newcomer(tools: Path) -> None:
    """``emu``, ``python``, ``pytest`` of this environment, as an activated one has them."""
    tools.mkdir(parents=True)
    for name, words in (("emu", "-P -m emu.cli"), ("pytest", "-m pytest"), ("python", ""), ("python3", "")):
        (tools / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n')
    for name, script in HIDDEN.items():
        (tools / name).write_text(f"#!/bin/bash\n{script}\n")
    for tool in tools.iterdir():
        tool.chmod(0o755)


@contextmanager
def started(page: Page, base: Path, chip_cc: str, long: bool = False) -> Iterator[Run]:
    """A page's folder and its shell. ``chip_cc``: the compiler for the chip, as a command."""
    folder = base / "project"
    folder.mkdir()
    if page.marks.one("folder") == "a clone":
        copy_of_the_checkout(folder)
    commands_of_a_newcomer(base / "bin")
    environment = {
        **os.environ,
        "PATH": f"{base / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),  # of a clone too: it is the same code, and it is compiled
        "CLONE": str(ROOT),
        "CHIP_CC": chip_cc,
        "EMU_LEDGER": str(base / "ledger.sqlite"),
        "COLUMNS": "120",
        "NO_COLOR": "1",
    }
    with Shell(folder, base / "steps", environment) as shell:
        yield Run(page, shell, folder, long)


def run_page(page: Page, base: Path, chip_cc: str, long: bool = False) -> list[str]:
    """Run all blocks of a page; what was left out, with its reasons."""
    with started(page, base, chip_cc, long) as run:
        run.first()
        for block in page.blocks:
            run.block(block)
        return run.left_out
